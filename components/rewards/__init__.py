"""Write and check a custom reward."""

from components.rewards.reward_editor import ChosenReward, RewardEditor, RewardTask

__all__ = ["ChosenReward", "RewardEditor", "RewardTask"]
