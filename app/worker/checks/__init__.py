"""Checks of what users gave: environments, rewards, pictures."""
