"""Train a model: SB3 callback, checkpoints, periodic evaluation, diagnostics."""
