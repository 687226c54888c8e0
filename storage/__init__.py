"""What the lab remembers: rows in a database and files below the runs folder."""
