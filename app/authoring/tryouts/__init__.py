"""Tryouts: watch, step through or play an environment before training."""

from app.authoring.tryouts.actions import ActionSpace
from app.authoring.tryouts.demonstrations import Demonstrations
from app.authoring.tryouts.random_scores import RandomScore
from app.authoring.tryouts.tryout import SPEEDS, Tryout, any_seed
from app.authoring.tryouts.tryouts import Tryouts

__all__ = [
    "SPEEDS",
    "ActionSpace",
    "Demonstrations",
    "RandomScore",
    "Tryout",
    "Tryouts",
    "any_seed",
]
