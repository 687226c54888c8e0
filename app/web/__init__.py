"""HTTP layer around pages and API: request filter, authentication, limits for slow clients."""
