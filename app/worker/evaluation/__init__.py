"""Play policies: evaluations, live view, clips, and their recordings."""
