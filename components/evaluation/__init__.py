"""Evaluations of a run: start, watch, videos, replay, time machine."""
