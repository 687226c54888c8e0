"""Reusable pieces of user interface: they get values, callables or the one service they drive."""
