"""Runs beside each other: what differs, what came of it, and whether that can be told."""
