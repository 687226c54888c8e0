"""What docs/performance.md reports, re-runnable with `make bench`."""
