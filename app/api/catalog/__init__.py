"""Routes of environments, algorithms, presets, custom rewards and previews."""
