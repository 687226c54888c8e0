"""People: how they show who they are, what they may do, and what they did."""
