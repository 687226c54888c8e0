"""The parts of the page on which a run is trained and shown."""

from components.dashboard.live_panel import LivePanel
from components.dashboard.measurements import Measurements
from components.dashboard.news_column import NewsColumn
from components.dashboard.setup_column import SetupColumn

__all__ = ["LivePanel", "Measurements", "NewsColumn", "SetupColumn"]
