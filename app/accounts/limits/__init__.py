"""How often and how much: attempts, request rates, slow work in turn, disk space."""
