"""Evaluations of a run: controls, results, videos, replay, time machine."""

from components.evaluation.evaluation_controls import EvaluationControls
from components.evaluation.evaluation_panel import EvaluationPanel
from components.evaluation.evaluation_video import EvaluationVideo, video_url
from components.evaluation.state import EvaluationState
from components.evaluation.time_machine import TimeMachineStrip

__all__ = [
    "EvaluationControls",
    "EvaluationPanel",
    "EvaluationState",
    "EvaluationVideo",
    "TimeMachineStrip",
    "video_url",
]
