"""Recorded episodes of an environment, played at random, well, and by cheap tricks."""
