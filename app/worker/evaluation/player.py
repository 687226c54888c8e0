"""Let a policy act: what it needs to remember, what it may do, and how an episode ends."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from sb3_contrib import MaskablePPO
from stable_baselines3.common.base_class import BaseAlgorithm
from stable_baselines3.common.vec_env import VecEnv


@dataclass(frozen=True, slots=True)
class Step:
    """What one step brought."""

    reward: float
    """As the environment gave it."""
    is_over: bool
    was_cut: bool
    """Whether a time limit ended it."""


class Player:
    """Plays one episode after another in a single environment with a policy."""

    def __init__(self, model: BaseAlgorithm, envs: VecEnv, *, deterministic: bool) -> None:
        self.model = model
        self.envs = envs
        self._deterministic = deterministic
        self._has_masks = isinstance(model, MaskablePPO)
        self.observation: Any = None
        """What the policy sees next."""
        self.action: Any = None
        """What it did last."""
        self._memory: Any = None
        self._begins = np.array([True])

    def begin(self, *, seed: int | None = None) -> None:
        """Begin a new episode."""
        if seed is not None:
            self.envs.seed(seed)
        self.observation = self.envs.reset()
        self._memory, self._begins = None, np.array([True])

    def step(self) -> Step:
        """Act once; after the end of an episode the next one has begun already."""
        more = {"action_masks": self._masks()} if self._has_masks else {}
        self.action, self._memory = self.model.predict(
            self.observation,
            state=self._memory,
            episode_start=self._begins,
            deterministic=self._deterministic,
            **more,
        )
        self.observation, rewards, dones, infos = self.envs.step(self.action)
        self._begins = dones
        return Step(
            reward=float(rewards[0]),
            is_over=bool(dones[0]),
            was_cut=bool(infos[0].get("TimeLimit.truncated", False)),
        )

    def _masks(self) -> Any:  # noqa: ANN401 - truth values for each action
        return np.stack(self.envs.env_method("action_masks"))
