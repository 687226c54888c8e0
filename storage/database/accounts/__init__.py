"""What is read and written of accounts."""
