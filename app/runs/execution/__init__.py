"""One run while it trains: supervision, checkpoints, resume, live view, periodic evaluation."""
