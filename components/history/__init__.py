"""Lists and tables of runs, and bulk actions."""

from components.history.history_filters import HistoryFilters
from components.history.history_view import HistoryView
from components.history.import_button import ImportButton
from components.history.pull_button import PullButton
from components.history.run_bulk import RunBulk
from components.history.run_list import RunList
from components.history.run_rows import Row, entry_row
from components.history.run_table import RunTable, TableHandlers

__all__ = [
    "HistoryFilters",
    "HistoryView",
    "ImportButton",
    "PullButton",
    "Row",
    "RunBulk",
    "RunList",
    "RunTable",
    "TableHandlers",
    "entry_row",
]
