"""Static checks of users' code: what can be said without running it."""
