"""Compared runs: curves, tables, videos side by side."""

from components.compare.across_tables import AcrossEnvironments
from components.compare.compare_curves import CompareCurves, CurveView
from components.compare.compare_tables import Conclusions, DifferencesTable, NumbersTable
from components.compare.compared_runs import (
    Candidate,
    ChipHandlers,
    Chips,
    RunSearch,
    candidates,
    fold_button,
)
from components.compare.side_by_side import SideBySide

__all__ = [
    "AcrossEnvironments",
    "Candidate",
    "ChipHandlers",
    "Chips",
    "CompareCurves",
    "Conclusions",
    "CurveView",
    "DifferencesTable",
    "NumbersTable",
    "RunSearch",
    "SideBySide",
    "candidates",
    "fold_button",
]
