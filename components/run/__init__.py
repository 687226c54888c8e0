"""One run: live feed, curves, event log, insights, lineage, versions."""
