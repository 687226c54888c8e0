"""The training form."""

from components.setup.environment_sheet import EnvironmentSheet
from components.setup.live_changes import LiveChanges
from components.setup.prefilling import Prefill
from components.setup.reward_editing import RewardEditing
from components.setup.setup_form import SetupForm
from components.setup.setup_sheet import SetupSheet

__all__ = ["EnvironmentSheet", "LiveChanges", "Prefill", "RewardEditing", "SetupForm", "SetupSheet"]
