"""Watch, step through and play an environment."""
