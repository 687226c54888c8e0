"""The reward lab before training: what is wrong with code, and what a reward would pay for."""
