"""The untrusted side of a run: everything that happens in the child process."""
