"""Analysis of runs: insights of the doctor, comparisons, reports."""
