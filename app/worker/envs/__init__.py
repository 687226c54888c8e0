"""Make environments, and apply a run's wrappers and custom reward."""
