"""Build, load and save models of Stable-Baselines3 and of the fast engine."""
