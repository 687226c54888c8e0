"""The state of runs: status, event log, metrics and live frames for subscribers."""

from app.runs.state.capacity import Capacity, CodeRefusal, OwnerLimit
from app.runs.state.endings import STOP_WITHIN_S, Ending, StopRequest, resume_hint
from app.runs.state.feed import RECENT_EPISODES, RECENT_LINES, Episode, RunFeed
from app.runs.state.frames import FrameHub
from app.runs.state.journal import NOT_CONFIRMED, Journal, RunLog, store_change
from app.runs.state.progress import progress_after

__all__ = [
    "NOT_CONFIRMED",
    "RECENT_EPISODES",
    "RECENT_LINES",
    "STOP_WITHIN_S",
    "Capacity",
    "CodeRefusal",
    "Ending",
    "Episode",
    "FrameHub",
    "Journal",
    "OwnerLimit",
    "RunFeed",
    "RunLog",
    "StopRequest",
    "progress_after",
    "resume_hint",
    "store_change",
]
