"""PPO and A2C in NumPy."""
