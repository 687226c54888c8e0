"""What every other package may use: errors, events, tasks, the storage thread, settings."""
