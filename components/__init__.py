"""Reusable pieces of user interface. A component gets values, callables or the one service it drives."""
