"""Write and try out: custom rewards, custom environments, previews."""
