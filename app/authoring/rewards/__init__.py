"""The reward lab: checks of custom rewards before training."""

from app.authoring.rewards.completions import Word, words_of
from app.authoring.rewards.report import RANK_METHOD, RewardReport, Trajectories
from app.authoring.rewards.reward_lab import RewardLab

__all__ = ["RANK_METHOD", "RewardLab", "RewardReport", "Trajectories", "Word", "words_of"]
