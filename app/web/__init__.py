"""The HTTP server around pages and API: request filter, authentication, slow clients."""
