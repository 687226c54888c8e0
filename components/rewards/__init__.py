"""Write and check a custom reward."""
