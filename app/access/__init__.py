"""Runs as one visitor may use them: every call checks again who asks and whether they may."""
