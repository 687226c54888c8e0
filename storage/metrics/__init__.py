"""Metrics of runs: lines on disk, downsampled into curves."""

from storage.metrics.curves import CurveCache
from storage.metrics.metrics import LineReader, MetricsWriter

__all__ = ["CurveCache", "LineReader", "MetricsWriter"]
