"""Play policies: evaluations, live view, clips, and what is recorded of them."""
