"""Time and memory of the web process and its workers."""
