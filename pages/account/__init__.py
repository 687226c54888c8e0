"""Pages to sign in, register, reset a password and change the own profile."""
