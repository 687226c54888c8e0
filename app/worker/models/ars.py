"""Augmented Random Search that reports progress and can be stopped and resumed."""

from typing import Any

import numpy as np
import sb3_contrib
import torch
from stable_baselines3.common.callbacks import BaseCallback


class StopRequestedError(Exception):
    """The job must stop; raised where SB3 offers no other way to end training."""


class Ars(sb3_contrib.ARS):
    """The ARS of sb3-contrib, with a callback that is called at every step and can stop it."""

    def _do_one_update(self, callback: BaseCallback, async_eval: Any) -> None:  # noqa: ANN401
        # Before the random directions are sampled, so that a resumed run samples the same ones.
        callback.on_rollout_start()
        super()._do_one_update(callback, async_eval)

    def set_parameters(self, *arguments: Any, **options: Any) -> None:
        """Load the policy and continue from its weights; sb3-contrib would restart from zeros."""
        super().set_parameters(*arguments, **options)
        loaded: Any = torch.nn.utils.parameters_to_vector(self.policy.parameters()).detach()
        self.weights = loaded

    def _trigger_callback(
        self, _locals: dict[str, Any], _globals: dict[str, Any], callback: BaseCallback, n_envs: int
    ) -> None:
        self.num_timesteps += n_envs
        info: dict[str, Any] = _locals["info"]
        callback.update_locals({"dones": np.array([_locals["done"]]), "infos": [info]})
        if not callback.on_step():
            raise StopRequestedError
        if "shaped" in info:
            # ARS ranks directions by the returns in the infos, which are read after this.
            shaped = info["shaped"]["values"]["shaped_reward"]
            info["episode"] = {**info["episode"], "r": shaped}
