"""Start, pool and watch worker processes; how well they are sandboxed."""
