"""Environments as cards, facts and findings."""
