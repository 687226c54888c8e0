"""Sign in and stay signed in: passwords, sessions, tokens, OpenID Connect, the audit log."""
