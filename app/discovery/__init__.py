"""Ask a worker about environments: what any installed one is like, and its picture."""
