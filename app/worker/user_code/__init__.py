"""Load and watch users' code: errors with their line, time, prints, crashes."""
