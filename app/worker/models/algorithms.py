"""The classes of each algorithm: Stable-Baselines3's, and the fast engine's where it has one."""

import inspect
from dataclasses import dataclass
from typing import Any

import sb3_contrib
import stable_baselines3
from stable_baselines3.common.base_class import BaseAlgorithm

from app.worker.fast.off_policy.dqn import FastDQN
from app.worker.fast.off_policy.sac import FastSAC
from app.worker.fast.off_policy.td3 import FastTD3
from app.worker.fast.off_policy.tqc import FastTQC
from app.worker.fast.on_policy.a2c import FastA2C
from app.worker.fast.on_policy.ppo import FastPPO
from app.worker.models.ars import Ars


@dataclass(frozen=True, slots=True)
class Implementation:
    """The classes that implement an algorithm, and how its saved models are recognized."""

    sb3: type[BaseAlgorithm]
    fast: type[BaseAlgorithm] | None = None
    net_arch: tuple[int, ...] | None = None
    """SB3's default layers, for saved models that name none; None: its models can't be imported."""
    after_cnn: tuple[int, ...] = ()
    """SB3's default layers after a CNN."""
    distinctive_key: str = "policy_class"
    """A key of saved models that distinguishes them from others with the same policy class."""

    @property
    def policy_module(self) -> str:
        """The module of its policy classes."""
        return self.policy.__module__

    @property
    def activation(self) -> Any:  # noqa: ANN401 - a class of torch
        """SB3's default activation function, for saved models that name none."""
        return inspect.signature(self.policy).parameters["activation_fn"].default

    @property
    def policy(self) -> type[Any]:
        """The class of its policy for vectors."""
        return next(iter(self.sb3.policy_aliases.values()))


ALGORITHMS = {
    "PPO": Implementation(stable_baselines3.PPO, FastPPO, (64, 64), distinctive_key="n_epochs"),
    "TRPO": Implementation(sb3_contrib.TRPO, None, (64, 64), distinctive_key="cg_max_steps"),
    # After PPO, which has the same policy class and this key, too.
    "A2C": Implementation(stable_baselines3.A2C, FastA2C, (64, 64), distinctive_key="vf_coef"),
    "DQN": Implementation(stable_baselines3.DQN, FastDQN, (64, 64)),
    "SAC": Implementation(stable_baselines3.SAC, FastSAC, (256, 256), (256, 256)),
    "TD3": Implementation(stable_baselines3.TD3, FastTD3, (400, 300), (256, 256)),
    "QRDQN": Implementation(sb3_contrib.QRDQN, net_arch=(64, 64)),
    "TQC": Implementation(sb3_contrib.TQC, FastTQC, (256, 256), (256, 256)),
    "RecurrentPPO": Implementation(sb3_contrib.RecurrentPPO),
    "MaskablePPO": Implementation(sb3_contrib.MaskablePPO),
    "ARS": Implementation(Ars),
    "CrossQ": Implementation(sb3_contrib.CrossQ),
}
"""By the algorithm's id in the catalogue."""
