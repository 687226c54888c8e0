"""The lab itself: environments, algorithms, training. No user interface."""
