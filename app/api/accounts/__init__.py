"""Routes of accounts: sign in, the own account, administration."""
