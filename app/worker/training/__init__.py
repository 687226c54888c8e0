"""Train a model: callback, checkpoints, periodic evaluation, diagnostics."""
