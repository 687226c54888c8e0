"""Export policies to other programs."""
