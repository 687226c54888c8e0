"""The execution of one run: supervision, checkpoints, resume, live view, periodic evaluation."""

from app.runs.execution.policy_snapshots import save_policy_snapshot
from app.runs.execution.resume import rewind
from app.runs.execution.supervisor import Supervisor, TrainingServices
from app.runs.execution.time_machine import CLIP_SECONDS, Clip, TimeMachine

__all__ = [
    "CLIP_SECONDS",
    "Clip",
    "Supervisor",
    "TimeMachine",
    "TrainingServices",
    "rewind",
    "save_policy_snapshot",
]
