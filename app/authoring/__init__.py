"""Custom rewards, custom environments, and previews of environments."""
