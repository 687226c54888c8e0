"""Play an environment step by step for a user."""
