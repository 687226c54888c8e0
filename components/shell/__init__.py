"""What every page has around its content: theme, keys, help, the tour."""
