"""Small pieces of user interface that everything else is built from."""
