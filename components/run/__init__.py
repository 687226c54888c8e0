"""Components of one run: live feed, curves, event log, insights, lineage, versions."""

from components.run.chart_list import CHARTS
from components.run.curves import AXIS_LABELS, CurveCharts
from components.run.event_log import EventLog
from components.run.frame_stream import FrameStream
from components.run.insight_card import Change, Train
from components.run.insights import InsightList
from components.run.lineage import LineagePanel
from components.run.live_feed import LiveFeed
from components.run.report_button import ReportButton
from components.run.reward_history import RewardBars
from components.run.run_actions import Handlers, allowed_actions, why_not_train
from components.run.run_reward import RunReward
from components.run.share_dialog import ask_for_readers
from components.run.version_panel import StartRun, VersionPanel

__all__ = [
    "AXIS_LABELS",
    "CHARTS",
    "Change",
    "CurveCharts",
    "EventLog",
    "FrameStream",
    "Handlers",
    "InsightList",
    "LineagePanel",
    "LiveFeed",
    "ReportButton",
    "RewardBars",
    "RunReward",
    "StartRun",
    "Train",
    "VersionPanel",
    "allowed_actions",
    "ask_for_readers",
    "why_not_train",
]
