"""Rewards to begin with: some for every environment, some for one."""
