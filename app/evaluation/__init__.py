"""Evaluations of policies: requests, the queue, the worker that plays, records and videos."""
