"""Make environments, and put a run's wrappers and custom reward around one."""
