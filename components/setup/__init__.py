"""The training form."""
