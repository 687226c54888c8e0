"""Pages to sign in, register, reset a password and edit one's profile."""
