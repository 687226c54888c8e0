"""Custom environments: checked in a worker, kept in versions, shared."""
