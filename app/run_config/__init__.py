"""From a request to a complete run configuration: seeds, wrappers, live changes."""
