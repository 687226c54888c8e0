"""Compared runs: curves, tables, videos side by side."""
