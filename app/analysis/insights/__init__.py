"""What the rules of the doctor read and return: a run as history and situation, an insight."""
