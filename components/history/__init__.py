"""Lists and tables of runs, and what can be done with many."""
