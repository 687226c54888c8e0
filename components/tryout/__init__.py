"""Try out an environment: watch, step or play."""

from components.tryout.demonstration_list import DemonstrationList
from components.tryout.score_board import ScoreBoard
from components.tryout.state_view import StateView
from components.tryout.tryout_panel import TryoutPanel

__all__ = ["DemonstrationList", "ScoreBoard", "StateView", "TryoutPanel"]
