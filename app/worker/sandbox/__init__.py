"""Lock a process down: resource limits, Landlock, seccomp."""
