"""Equal models of Stable-Baselines3 and of the fast engine, to compare their training."""

import copy
from dataclasses import dataclass, field
from typing import Any

import gymnasium as gym
import numpy as np
import pytest
import torch
from gymnasium.spaces import Box, Discrete, MultiBinary, MultiDiscrete
from sb3_contrib import TQC
from stable_baselines3 import A2C, DQN, PPO, SAC, TD3
from stable_baselines3.common.logger import Logger
from stable_baselines3.common.on_policy_algorithm import OnPolicyAlgorithm
from stable_baselines3.common.vec_env import DummyVecEnv, VecEnv, VecNormalize

from app.worker.fast.off_policy.dqn import FastDQN
from app.worker.fast.off_policy.sac import FastSAC
from app.worker.fast.off_policy.td3 import FastTD3
from app.worker.fast.off_policy.tqc import FastTQC
from app.worker.fast.on_policy.a2c import FastA2C
from app.worker.fast.on_policy.ppo import FastPPO

torch.set_num_threads(1)

SPACE = Box(-1, 1, (3,), np.float32)
ACTIONS: dict[str, gym.Space[Any]] = {
    "discrete": Discrete(3),
    "multi_discrete": MultiDiscrete([2, 4, 3]),
    "many sub-actions": MultiDiscrete([3] * 12),
    "multi_binary": MultiBinary(3),
    "box": Box(-1, 2, (2,), np.float32),
    "box of several rows": Box(-1, 1, (2, 2), np.float32),
    "box of a column": Box(np.array([[-2.0], [0.0]], np.float32), 3.0, (2, 1)),
}


@dataclass(frozen=True)
class Pair:
    """An algorithm in both engines, and the tolerance of comparisons."""

    plain: type[Any]
    fast: type[Any]
    values: dict[str, Any]
    """Hyperparameters for short trainings."""
    actions: str = "discrete"
    action_reward: int = 0
    """The reward per unit of the actions."""
    n_envs: int = 2
    steps: int = 120
    logs: dict[str, float] = field(default_factory=lambda: {"rel": 1e-5, "abs": 1e-6})

    @property
    def both(self) -> tuple[type[Any], type[Any]]:
        return self.plain, self.fast


_CONTINUOUS: dict[str, Any] = {
    "learning_starts": 20,
    "batch_size": 16,
    "buffer_size": 400,
    "train_freq": 2,
    "gradient_steps": 2,
    "learning_rate": 1e-3,
    "tau": 0.1,
}
_DQN: dict[str, Any] = {
    "learning_starts": 20,
    "batch_size": 16,
    "buffer_size": 400,
    "train_freq": 4,
    "target_update_interval": 25,
    "learning_rate": 1e-3,
    "exploration_fraction": 0.5,
}
_ROLLOUTS: dict[str, Any] = {"n_envs": 4, "logs": {"rel": 1e-4, "abs": 1e-5}}
_BOX: dict[str, Any] = {"actions": "box of a column", "action_reward": 1}
PAIRS = {
    "PPO": Pair(PPO, FastPPO, {"n_steps": 32, "batch_size": 25, "n_epochs": 5}, **_ROLLOUTS),
    "A2C": Pair(A2C, FastA2C, {"n_steps": 8}, **_ROLLOUTS),
    "DQN": Pair(DQN, FastDQN, _DQN, action_reward=3, steps=500, logs={"rel": 1e-4}),
    "SAC": Pair(SAC, FastSAC, _CONTINUOUS, **_BOX),
    "TD3": Pair(TD3, FastTD3, _CONTINUOUS, **_BOX),
    "TQC": Pair(TQC, FastTQC, _CONTINUOUS, **_BOX),
}
ON_POLICY = ("PPO", "A2C")
OFF_POLICY = ("DQN", "SAC", "TD3", "TQC")


class RandomEnv(gym.Env[Any, Any]):
    """Random observations, rewards, terminations and truncations; actions add to the reward."""

    def __init__(self, space: gym.Space[Any], actions: gym.Space[Any], action_reward: int) -> None:
        self.observation_space = space
        self.action_space = actions
        self._action_reward = action_reward

    def reset(self, *, seed: int | None = None, options: Any = None) -> tuple[Any, dict[str, Any]]:
        super().reset(seed=seed)
        self.observation_space.seed(int(self.np_random.integers(1 << 30)))
        return self.observation_space.sample(), {}

    def step(self, action: Any) -> tuple[Any, float, bool, bool, dict[str, Any]]:
        assert self.action_space.contains(action)
        terminated, truncated = self.np_random.random(2) < 0.1
        reward = float(self.np_random.normal() + self._action_reward * action.sum())
        return self.observation_space.sample(), reward, bool(terminated), bool(truncated), {}


def build(
    algorithm: str,
    kind: type[Any],
    space: gym.Space[Any] = SPACE,
    *,
    actions: str | None = None,
    is_normalized: bool = False,
    **values: Any,
) -> Any:
    """Return a model, with a small network unless the values define another."""
    pair = PAIRS[algorithm]
    chosen = ACTIONS[actions or pair.actions]
    make = lambda: RandomEnv(copy.deepcopy(space), copy.deepcopy(chosen), pair.action_reward)  # noqa: E731
    envs: VecEnv = DummyVecEnv([make] * pair.n_envs)
    if is_normalized:
        envs = VecNormalize(envs)
    arguments = {"policy_kwargs": {"net_arch": [8]}, **pair.values, **copy.deepcopy(values)}
    model = kind("MlpPolicy", envs, seed=7, device="cpu", **arguments)
    model.set_logger(Logger(folder=None, output_formats=[]))
    if algorithm in ON_POLICY:
        _, model.callback = model._setup_learn(10_000)
    return model


def both_engines(algorithm: str, *arguments: Any, **options: Any) -> tuple[Any, Any]:
    """Return the same model in both engines."""
    plain, fast = (build(algorithm, kind, *arguments, **options) for kind in PAIRS[algorithm].both)
    return plain, fast


def weights_of(model: Any) -> Any:
    parameters = [value.detach().ravel() for value in model.policy.state_dict().values()]
    if getattr(model, "log_ent_coef", None) is not None:
        parameters.append(model.log_ent_coef.detach())
    return torch.cat(parameters)


def difference(one: Any, other: Any) -> float:
    """Return the maximum difference of weights."""
    return float((weights_of(one) - weights_of(other)).abs().max())


def collect(model: Any) -> None:
    """Collect a rollout."""
    assert model.collect_rollouts(model.env, model.callback, model.rollout_buffer, model.n_steps)


def learn(model: Any, steps: int, **options: Any) -> Any:
    """Train with fixed seeds of both global generators."""
    np.random.seed(3)
    torch.manual_seed(3)
    return model.learn(steps, **{"log_interval": None, **options})


def update_alike(plain: Any, *others: Any, times: int = 1) -> None:
    """Update all models with the data of the plain one: its replay buffer or a new rollout."""
    is_on_policy = isinstance(plain, OnPolicyAlgorithm)
    buffer = "rollout_buffer" if is_on_policy else "replay_buffer"
    if is_on_policy:
        collect(plain)
    for model in others:
        setattr(model, buffer, copy.deepcopy(getattr(plain, buffer)))
    for model in (plain, *others):
        np.random.seed(11)
        torch.manual_seed(11)
        for _ in range(times):
            model.train(*(() if is_on_policy else (20, 16)))


def train_alike(algorithm: str, plain: Any, fast: Any) -> None:
    """Do at least 50 gradient steps: on-policy 6 minibatches times 5 epochs per rollout."""
    if algorithm in OFF_POLICY:
        for model in (plain, fast):
            learn(model, PAIRS[algorithm].steps)
        assert plain._n_updates >= 50
        _assert_same_buffers(algorithm, plain, fast)
        _assert_same_logs(algorithm, plain, fast)
        return
    for _ in range(2):
        update_alike(plain, fast, times=25 if algorithm == "A2C" else 1)
        _assert_same_logs(algorithm, plain, fast)
        for model in (plain, fast):
            model._current_progress_remaining -= 0.3


def assert_same_training(algorithm: str, *arguments: Any, **options: Any) -> None:
    plain, fast = both_engines(algorithm, *arguments, **options)
    before = weights_of(plain).clone()

    train_alike(algorithm, plain, fast)

    assert float((weights_of(plain) - before).abs().max()) > 5e-4
    assert difference(plain, fast) < 1e-5


def _assert_same_logs(algorithm: str, plain: Any, fast: Any) -> None:
    ours, theirs = fast.logger.name_to_value, plain.logger.name_to_value
    assert ours.keys() == theirs.keys()
    for name, value in theirs.items():
        if name.startswith("train/"):
            assert ours[name] == pytest.approx(value, **PAIRS[algorithm].logs), name


def _assert_same_buffers(algorithm: str, plain: Any, fast: Any) -> None:
    # Discrete actions must be equal; continuous ones may differ by rounding.
    close = 0.0 if algorithm == "DQN" else 1e-5
    for name, most in {
        **dict.fromkeys(("observations", "next_observations", "dones", "timeouts"), 0.0),
        **dict.fromkeys(("actions", "rewards"), close),
    }.items():
        ours, theirs = (getattr(model.replay_buffer, name) for model in (fast, plain))
        np.testing.assert_allclose(ours, theirs, rtol=most, atol=most, err_msg=name)
    for name in ("pos", "full"):
        assert getattr(fast.replay_buffer, name) == getattr(plain.replay_buffer, name)
    for name in ("_episode_num", "exploration_rate"):
        assert getattr(fast, name, None) == getattr(plain, name, None)
