"""Lock the process down: limits, Landlock, seccomp."""
