"""What a user may do, apart from runs: whether they may give code to the lab."""
