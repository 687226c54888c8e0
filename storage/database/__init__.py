"""The database: SQLite or PostgreSQL, and what is read and written of runs."""
