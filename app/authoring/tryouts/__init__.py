"""Trying environments out before anything is trained: watch, step through, play."""
