"""Play episodes: named policies act in one environment, time step by time step."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from stable_baselines3.common.base_class import BaseAlgorithm
from stable_baselines3.common.vec_env import VecEnv

from app.protocol import Control, messages
from app.worker.envs.environments import success_in
from app.worker.envs.wrappers import Masked
from app.worker.models.models import load_weights


@dataclass(frozen=True, slots=True, kw_only=True)
class TimeStep:
    """One time step of an episode, or its reset; mappings are keyed by the agents' names."""

    episode: int
    """The number of the episode, from 1."""
    number: int
    """The number of the step in its episode; 0 for the reset."""
    observation: Any = None
    """The observation before the step."""
    masks: Any = None
    """Which actions were allowed, for each environment; None for models without masks."""
    actions: Mapping[str, Any] = field(default_factory=dict)
    rewards: Mapping[str, float]
    """The environment's original rewards."""
    returns: Mapping[str, float]
    """Sums of the rewards of the episode so far."""
    is_over: bool = False
    truncated: bool = False
    """Whether the episode was truncated, for example by a time limit."""
    is_success: bool | None = None
    """Whether the episode reached the goal; None if the environment doesn't report it."""

    @property
    def reward(self) -> float:
        """The sum of all agents' rewards."""
        return sum(self.rewards.values())

    @property
    def return_(self) -> float:
        """The sum of all agents' returns."""
        return sum(self.returns.values())


@dataclass(frozen=True, slots=True, kw_only=True)
class FinishedEpisode:
    """The result of a whole episode."""

    return_: float
    length: int
    truncated: bool
    is_success: bool | None

    @classmethod
    def at(cls, last: TimeStep) -> "FinishedEpisode":
        """Return the result of an episode, given its last step."""
        return cls(
            return_=last.return_,
            length=last.number,
            truncated=last.truncated,
            is_success=last.is_success,
        )


class Policy:
    """Chooses the actions of one agent, and keeps its recurrent state during an episode.

    It is `deterministic` or samples its actions; of policies that have no distribution, the
    epsilon-greedy ones of DQN explore as at the end of their training, others don't sample.
    """

    def __init__(self, model: BaseAlgorithm, *, deterministic: bool) -> None:
        self.model = model
        self._deterministic = deterministic
        self.reset()

    def reset(self) -> None:
        """Reset the recurrent state for a new episode."""
        self._state: Any = None
        self._is_start = np.array([True])

    def act(self, observation: Any, masks: Any) -> Any:  # noqa: ANN401 - of any space
        """Return the action; `masks` marks the allowed ones, None for models without masks."""
        action, self._state = act(
            self.model,
            observation,
            masks,
            state=self._state,
            episode_start=self._is_start,
            deterministic=self._deterministic,
        )
        self._is_start = np.array([False])
        return action


def act(
    model: BaseAlgorithm,
    observation: Any,  # noqa: ANN401 - of any space
    masks: Any,  # noqa: ANN401 - an array, or None
    **options: Any,
) -> tuple[Any, Any]:
    """Return the actions for a batch of observations, and the recurrent state after them."""
    more = {} if masks is None else {"action_masks": masks}
    actions, state = model.predict(observation, **options, **more)
    # Policies compute in double precision where they can.
    return actions.astype(model.action_space.dtype, copy=False), state


class Player:
    """Plays one episode after another in a single environment, with a policy for each agent."""

    def __init__(self, envs: VecEnv, policies: Mapping[str, Policy]) -> None:
        # A vectorized environment has one agent.
        (self._agent,) = policies
        self.envs = envs
        self.policies = policies
        self._has_masks = any(envs.env_is_wrapped(Masked))

    def seed(self, seed: int) -> None:
        """Seed the action sampling of stochastic policies."""
        for policy in self.policies.values():
            policy.model.set_random_seed(seed)

    def play_episode(self, number: int = 1, *, seed: int | None = None) -> Iterator[TimeStep]:
        """Play a whole episode; yield its reset and each of its steps."""
        if seed is not None:
            self.envs.seed(seed)
            # Also of sampled actions, so that an episode doesn't depend on those before it.
            self.seed(seed)
        observation = self.envs.reset()
        for policy in self.policies.values():
            policy.reset()
        zeros = dict.fromkeys(self.policies, 0.0)
        step = TimeStep(episode=number, number=0, rewards=zeros, returns=zeros)
        yield step
        while not step.is_over:
            step, observation = self._step(step, observation)
            yield step

    def _step(self, last: TimeStep, observation: Any) -> tuple[TimeStep, Any]:  # noqa: ANN401
        """Take a step; return it and the next observation, of a new episode if this one ended."""
        masks = np.stack(self.envs.env_method("action_masks")) if self._has_masks else None
        actions = {name: one.act(observation, masks) for name, one in self.policies.items()}
        next_observation, (reward,), (is_over,), (info,) = self.envs.step(actions[self._agent])
        rewards = {self._agent: float(reward)}
        step = TimeStep(
            episode=last.episode,
            number=last.number + 1,
            observation=observation,
            masks=masks,
            actions=actions,
            rewards=rewards,
            returns={name: total + rewards[name] for name, total in last.returns.items()},
            is_over=bool(is_over),
            truncated=bool(info.get("TimeLimit.truncated", False)),
            is_success=success_in(info) if is_over else None,
        )
        return step, next_observation


def received_policies(
    model: BaseAlgorithm, envs: VecEnv, control: Control
) -> Iterator[messages.WeightsHeader]:
    """Load every policy that the web process sends, and yield its header, until the stop."""
    while not control.stop_requested:
        control.weights_arrived.wait()
        if (received := control.take_weights()) is not None:
            header, weights = received
            load_weights(model, envs, weights)
            yield header
