"""Metrics of runs: lines on disk, thinned into curves."""
