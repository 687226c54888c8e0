"""Training speed: both engines, environments, rewards, presets, other libraries."""
