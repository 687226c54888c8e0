"""Recorded episodes of an environment, played by random, good and degenerate policies."""
