"""Basic user interface elements that the other components share."""

from components.base.buttons import compact_button, mark_pressed, primary_button, quiet_button
from components.base.dialogs import answer_to
from components.base.explain import AlgorithmCard, explained
from components.base.fold import Fold
from components.base.hyperparameter_field import (
    HyperparameterField,
    checked_elsewhere,
    number_input,
)
from components.base.live_value import LiveText
from components.base.metrics import NOT_MEASURED, MetricCells, format_number
from components.base.panels import EmptyState, heading, page_links, panel
from components.base.progress import ProgressBar, format_seconds, format_seconds_of
from components.base.refusal import Refusal
from components.base.sizes import file_size, kilobytes, megabytes, read_limit
from components.base.skeleton import Skeleton, load_content
from components.base.status_badge import StatusBadge, status_class
from components.base.steady_rows import SteadyRows
from components.base.table import Table
from components.base.times import format_time

__all__ = [
    "NOT_MEASURED",
    "AlgorithmCard",
    "EmptyState",
    "Fold",
    "HyperparameterField",
    "LiveText",
    "MetricCells",
    "ProgressBar",
    "Refusal",
    "Skeleton",
    "StatusBadge",
    "SteadyRows",
    "Table",
    "answer_to",
    "checked_elsewhere",
    "compact_button",
    "explained",
    "file_size",
    "format_number",
    "format_seconds",
    "format_seconds_of",
    "format_time",
    "heading",
    "kilobytes",
    "load_content",
    "mark_pressed",
    "megabytes",
    "number_input",
    "page_links",
    "panel",
    "primary_button",
    "quiet_button",
    "read_limit",
    "status_class",
]
