"""Code that runs in worker processes, which are untrusted and sandboxed."""
