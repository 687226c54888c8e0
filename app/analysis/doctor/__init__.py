"""The doctor: looks at a run's numbers, says what it sees, what it means and what to do."""
