"""Judge runs: insights of the doctor, comparisons, reports."""
