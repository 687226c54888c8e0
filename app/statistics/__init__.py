"""Estimators and intervals, used by evaluations, groups and comparisons."""
