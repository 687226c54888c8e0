"""Input and output of the doctor's rules: history, situation and insight."""

from app.analysis.insights.history import History
from app.analysis.insights.insight import Insight, Severity
from app.analysis.insights.situation import Situation

__all__ = ["History", "Insight", "Severity", "Situation"]
