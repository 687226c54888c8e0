"""The trusted side of a run: configuration, queue, workers and what they report."""
