"""Routes of runs and all that belongs to one."""
