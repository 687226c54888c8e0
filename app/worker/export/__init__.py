"""Write policies for other programs."""
