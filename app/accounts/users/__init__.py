"""Users and their accounts: profiles, pictures, administration, password resets."""
