"""DQN, SAC, TD3 and TQC in NumPy."""
