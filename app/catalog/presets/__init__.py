"""Tuned settings per environment and algorithm, with what they were measured to reach."""
