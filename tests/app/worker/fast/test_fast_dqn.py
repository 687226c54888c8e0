"""The fast DQN does what Stable-Baselines3's does, to the rounding of float32.

Both draw the same random numbers, so whole trainings are compared: what is remembered is equal,
weights differ by less than 1e-5 after 50 gradient steps and more.
"""

import copy
import io
from typing import Any

import gymnasium as gym
import numpy as np
import pytest
import torch
from gymnasium.spaces import Box, Discrete, MultiBinary, MultiDiscrete
from stable_baselines3 import DQN
from stable_baselines3.common.logger import Logger

from app.worker.fast.off_policy.dqn import FastDQN
from tests.app.worker.envs.walks import Walk, build_on

torch.set_num_threads(1)

SEEN = Box(-1, 1, (3,), np.float32)
SMALL = {
    "learning_starts": 20,
    "batch_size": 16,
    "buffer_size": 400,
    "train_freq": 4,
    "target_update_interval": 25,
    "learning_rate": 1e-3,
    "exploration_fraction": 0.5,
}
OPTIONS: dict[str, dict[str, Any]] = {
    "as they are": {},
    "soft updates": {"tau": 0.1, "target_update_interval": 2},
    "many gradient steps": {"gradient_steps": 6, "train_freq": 16},
    "as many as steps": {"gradient_steps": -1},
    "clipped gradients": {"max_grad_norm": 0.01},
    "returns of three steps": {"n_steps": 3},
    "a memory that forgets": {"buffer_size": 64},
    "a schedule": {"learning_rate": lambda left: 1e-3 * left},
    "learning at once": {"learning_starts": 0},
}
NETWORKS: dict[str, dict[str, Any]] = {
    "relu": {"net_arch": [16, 16]},
    "tanh": {"net_arch": [8], "activation_fn": torch.nn.Tanh},
    "elu": {"net_arch": [5, 7, 6], "activation_fn": torch.nn.ELU},
    "no hidden layers": {"net_arch": []},
}
OBSERVATIONS: dict[str, gym.Space[Any]] = {
    "several rows": Box(-1, 1, (2, 3), np.float32),
    "double": Box(-1, 1, (3,), np.float64),
    "discrete": Discrete(5),
    "multi_discrete": MultiDiscrete([3, 2]),
    "multi_binary": MultiBinary(4),
}


def build(
    kind: type[Any], seen: gym.Space[Any] = SEEN, *, scaled: bool = False, **values: Any
) -> Any:
    def make() -> Walk:
        return Walk(copy.deepcopy(seen), Discrete(3), worth=3)

    return build_on(make, kind, scaled=scaled, **{**SMALL, **copy.deepcopy(values)})


def learn(model: Any, steps: int, **options: Any) -> None:
    """Train; models that are compared share NumPy's generator."""
    np.random.seed(3)
    model.learn(steps, **{"log_interval": None, **options})


def weights_of(model: Any) -> Any:
    return torch.cat([value.ravel() for value in model.policy.state_dict().values()])


def assert_same(plain: Any, fast: Any) -> None:
    for name in ("observations", "next_observations", "actions", "rewards", "dones", "timeouts"):
        ours, theirs = (getattr(model.replay_buffer, name) for model in (fast, plain))
        np.testing.assert_array_equal(ours, theirs, err_msg=name)
    assert fast.replay_buffer.pos == plain.replay_buffer.pos
    assert fast.replay_buffer.full == plain.replay_buffer.full
    logged = plain.logger.name_to_value
    for name in ("train/loss", "train/n_updates", "train/learning_rate"):
        assert fast.logger.name_to_value[name] == pytest.approx(logged[name], rel=1e-4), name
    assert fast.exploration_rate == plain.exploration_rate
    assert fast._episode_num == plain._episode_num
    assert float((weights_of(plain) - weights_of(fast)).abs().max()) < 1e-5


def assert_same_training(plain: Any, fast: Any, steps: int = 500) -> None:
    before = weights_of(plain).clone()

    for model in (plain, fast):
        learn(model, steps)

    assert_same(plain, fast)
    assert plain._n_updates >= 50
    assert float((weights_of(plain) - before).abs().max()) > 1e-3


@pytest.mark.parametrize("option", OPTIONS)
def test_training_is_the_same_with_all_options(option: str) -> None:
    assert_same_training(*(build(kind, **OPTIONS[option]) for kind in (DQN, FastDQN)))


@pytest.mark.parametrize("network", NETWORKS)
def test_training_is_the_same_with_all_networks(network: str) -> None:
    arguments = {"policy_kwargs": NETWORKS[network]}

    assert_same_training(*(build(kind, **arguments) for kind in (DQN, FastDQN)))


@pytest.mark.parametrize("seen", OBSERVATIONS)
def test_training_is_the_same_with_all_observations(seen: str) -> None:
    assert_same_training(*(build(kind, OBSERVATIONS[seen]) for kind in (DQN, FastDQN)))


def test_training_is_the_same_with_scaled_observations_and_rewards() -> None:
    assert_same_training(*(build(kind, scaled=True) for kind in (DQN, FastDQN)))


def test_gradients_are_the_same() -> None:
    plain, fast = (build(kind, max_grad_norm=1e9, learning_starts=100) for kind in (DQN, FastDQN))
    lengths: list[float] = []
    fast.after_gradient_step = lengths.append

    for model in (plain, fast):
        learn(model, 104)

    ours = dict(fast.policy.q_net.named_parameters())
    for name, parameter in plain.policy.q_net.named_parameters():
        same = torch.allclose(ours[name].grad, parameter.grad, rtol=1e-4, atol=1e-6)
        assert same, name
    grads = [parameter.grad.ravel() for parameter in plain.policy.q_net.parameters()]
    assert lengths == [pytest.approx(float(torch.cat(grads).norm()), rel=1e-5)]


def test_a_model_goes_on_in_the_other_engine() -> None:
    plain, fast = build(DQN), build(FastDQN)
    for model in (plain, fast):
        learn(model, 200)
    files = [io.BytesIO(), io.BytesIO()]
    plain.save(files[0])
    fast.save(files[1])

    now_fast, now_plain = (
        kind.load(file, device="cpu", env=model.env)
        for kind, file, model in zip((FastDQN, DQN), files, (plain, fast), strict=True)
    )

    for model, before in ((now_fast, plain), (now_plain, fast)):
        model.set_logger(Logger(folder=None, output_formats=[]))
        model.replay_buffer = copy.deepcopy(before.replay_buffer)
    for model in (plain, fast, now_fast, now_plain):
        np.random.seed(5)
        model.train(gradient_steps=20, batch_size=16)
    for model in (fast, now_fast, now_plain):
        assert float((weights_of(plain) - weights_of(model)).abs().max()) < 1e-5


def test_logs_of_sb3_come_as_often_as_asked_for() -> None:
    counts = []
    for kind in (DQN, FastDQN):
        model = build(kind)
        dumps: list[int] = []
        model.dump_logs = lambda dumps=dumps: dumps.append(1)
        learn(model, 200, log_interval=3)
        counts.append(len(dumps))

    assert counts[0] == counts[1] > 3


def test_moments_of_dead_units_end_at_zero_and_nowhere_else_is_tiny_zero() -> None:
    model = build(FastDQN)
    learn(model, 100)
    dead = model.q_net.q_net[0].weight
    with torch.no_grad():
        model.q_net.q_net[0].bias.fill_(-100.0)
    moments = model.policy.optimizer.state[dead]["exp_avg"]
    moments.fill_(2e-38)

    model.train(gradient_steps=50, batch_size=16)

    assert torch.count_nonzero(moments) == 0
    assert np.float32(2e-38) * np.float32(0.1) > 0
