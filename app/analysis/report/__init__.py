"""Reports: all that a run says, as JSON, as text and as one page that needs nothing else."""
