"""The fast engine is equivalent to Stable-Baselines3 up to rounding of float32.

Off-policy, both engines use the same random numbers, so whole trainings are compared; on-policy,
they learn from the same rollout. After at least 50 gradient steps, weights differ by less than
1e-5, logged values by less than 1e-5 (off-policy) or 1e-4 relatively, gradients by less than 1e-4.
"""

import io
from typing import Any

import gymnasium as gym
import numpy as np
import pytest
import torch
from gymnasium.spaces import Box, Discrete, MultiBinary, MultiDiscrete
from stable_baselines3.common.logger import Logger
from stable_baselines3.common.noise import NormalActionNoise

from tests.app.worker.fast.engines import (
    ACTIONS,
    OFF_POLICY,
    ON_POLICY,
    PAIRS,
    SPACE,
    assert_same_training,
    both_engines,
    build,
    difference,
    learn,
    update_alike,
    weights_of,
)

# The last minibatch of an epoch is smaller than the others on purpose.
pytestmark = pytest.mark.filterwarnings("ignore:You have specified a mini-batch size")

Values = dict[str, Any]

NETWORKS: dict[str, Values] = {
    "tanh": {"net_arch": [16, 16], "activation_fn": torch.nn.Tanh},
    "relu": {"net_arch": [16, 8], "activation_fn": torch.nn.ReLU},
    "elu": {"net_arch": [5, 7, 6], "activation_fn": torch.nn.ELU},
    "no hidden layers": {"net_arch": []},
}
_ACTOR_CRITIC_NETWORKS: dict[str, Values] = {
    "one for each": {"net_arch": {"pi": [16], "vf": [8, 12]}, "activation_fn": torch.nn.Tanh},
    "values without hidden layers": {
        "net_arch": {"pi": [16], "vf": []},
        "activation_fn": torch.nn.ReLU,
    },
}
_CRITIC_NETWORKS: dict[str, Values] = {
    "three critics, tanh": {
        "net_arch": {"pi": [9], "qf": [6, 7]},
        "n_critics": 3,
        "activation_fn": torch.nn.Tanh,
    },
    "one critic, elu": {
        "net_arch": [5, 6],
        "n_critics": 1,
        "activation_fn": torch.nn.ELU,
    },
    "no hidden layers": {"net_arch": []},
}
OBSERVATIONS: dict[str, gym.Space[Any]] = {
    "several rows": Box(-1, 1, (2, 3), np.float32),
    "double": Box(-1, 1, (3,), np.float64),
    "rows of doubles": Box(-1, 1, (2, 3), np.float64),
    "discrete": Discrete(5),
    "multi_discrete": MultiDiscrete([3, 2]),
    "multi_binary": MultiBinary(4),
    "small picture": Box(0, 255, (3, 4, 4), np.uint8),
}
_OBSERVATIONS_OF = {
    "PPO": [name for name in OBSERVATIONS if name != "rows of doubles"],
    "DQN": [name for name in OBSERVATIONS if name not in ("rows of doubles", "small picture")],
    "SAC": ["rows of doubles", "discrete"],
}
OPTIONS: dict[str, dict[str, Values]] = {
    "PPO": {
        "value clip": {"clip_range_vf": 0.05},
        "target_kl": {"target_kl": 1e-4, "learning_rate": 3e-3},
        "entropy": {"ent_coef": 0.05},
        "plain advantages": {"normalize_advantage": False},
        "clipped gradients": {"max_grad_norm": 0.05},
        "narrow clip": {"clip_range": 0.005},
        "schedules": {
            "learning_rate": lambda left: 3e-3 * left,
            "clip_range": lambda left: 0.3 * left,
        },
    },
    "A2C": {
        "Adam": {"use_rms_prop": False},
        "normalized advantages": {"normalize_advantage": True},
        "entropy": {"ent_coef": 0.05, "gae_lambda": 0.9},
    },
    "DQN": {
        "defaults": {},
        "soft updates": {"tau": 0.1, "target_update_interval": 2},
        "many gradient steps": {"gradient_steps": 6, "train_freq": 16},
        "as many as steps": {"gradient_steps": -1},
        "clipped gradients": {"max_grad_norm": 0.01},
        "returns of three steps": {"n_steps": 3},
        "a small buffer": {"buffer_size": 64},
        "a schedule": {"learning_rate": lambda left: 1e-3 * left},
        "learning at once": {"learning_starts": 0},
    },
    "SAC": {
        "fixed entropy": {"ent_coef": 0.2, "target_update_interval": 2},
        "learned entropy": {"ent_coef": "auto_0.1", "target_entropy": -0.5},
    },
    "TD3": {
        "a late policy, much noise": {
            "policy_delay": 3,
            "target_policy_noise": 0.7,
            "target_noise_clip": 0.4,
        },
    },
    "TQC": {
        "defaults": {},
        "many quantiles, many dropped": {
            "top_quantiles_to_drop_per_net": 5,
            "batch_size": 64,
            "policy_kwargs": {"net_arch": [8], "n_quantiles": 25, "n_critics": 3},
        },
    },
}
_ACTOR_OPTIONS: dict[str, Values] = {
    "defaults": {},
    "as many steps, returns of three": {"gradient_steps": -1, "train_freq": 3, "n_steps": 3},
    "a schedule, a small buffer, noise": {
        "learning_rate": lambda left: 1e-3 * left,
        "buffer_size": 64,
        "action_noise": NormalActionNoise(np.zeros((2, 1)), np.full((2, 1), 0.3)),
    },
}
_ACTIONS_OF = {"PPO": ("discrete", "box"), "A2C": ("multi_discrete", "box")}


def _options() -> list[Any]:
    return [
        pytest.param(algorithm, actions, values, id=f"{algorithm}-{actions}-{name}")
        for algorithm in PAIRS
        for actions in _ACTIONS_OF.get(algorithm, (PAIRS[algorithm].actions,))
        for name, values in {
            **OPTIONS[algorithm],
            **(_ACTOR_OPTIONS if algorithm in ("SAC", "TD3") else {}),
        }.items()
    ]


def _networks() -> list[Any]:
    known = {
        "PPO": {**NETWORKS, **_ACTOR_CRITIC_NETWORKS},
        "A2C": {**NETWORKS, **_ACTOR_CRITIC_NETWORKS},
        "DQN": NETWORKS,
        "SAC": _CRITIC_NETWORKS,
        "TD3": _CRITIC_NETWORKS,
        "TQC": {"no hidden layers": _CRITIC_NETWORKS["no hidden layers"]},
    }
    return [
        pytest.param(algorithm, values, id=f"{algorithm}-{name}")
        for algorithm, networks in known.items()
        for name, values in networks.items()
    ]


@pytest.mark.slow
@pytest.mark.parametrize(("algorithm", "actions", "values"), _options())
def test_training_is_the_same_with_all_options(
    algorithm: str, actions: str, values: Values
) -> None:
    assert_same_training(algorithm, actions=actions, **values)


@pytest.mark.parametrize(("algorithm", "values"), _networks())
def test_training_is_the_same_with_all_networks(algorithm: str, values: Values) -> None:
    assert_same_training(algorithm, policy_kwargs=values)


@pytest.mark.parametrize("algorithm", ON_POLICY)
@pytest.mark.parametrize("actions", ACTIONS)
def test_training_is_the_same_with_all_actions(algorithm: str, actions: str) -> None:
    assert_same_training(algorithm, actions=actions, ent_coef=0.02)


@pytest.mark.parametrize(
    ("algorithm", "observations"),
    [(name, observations) for name, spaces in _OBSERVATIONS_OF.items() for observations in spaces],
)
def test_training_is_the_same_with_all_observations(algorithm: str, observations: str) -> None:
    assert_same_training(algorithm, OBSERVATIONS[observations])


@pytest.mark.parametrize("algorithm", OFF_POLICY)
def test_training_is_the_same_with_normalized_observations_and_rewards(algorithm: str) -> None:
    assert_same_training(algorithm, is_normalized=True)


@pytest.mark.parametrize(
    ("algorithm", "actions"),
    [
        *((algorithm, actions) for algorithm in ON_POLICY for actions in ACTIONS),
        *((algorithm, None) for algorithm in OFF_POLICY),
    ],
)
def test_gradients_are_the_same(algorithm: str, actions: str | None) -> None:
    once = {
        "PPO": {"batch_size": 128, "n_epochs": 1, "ent_coef": 0.02, "max_grad_norm": 1e9},
        "A2C": {"ent_coef": 0.02, "max_grad_norm": 1e9},
        "DQN": {"learning_starts": 100, "max_grad_norm": 1e9},
    }
    values = once.get(algorithm, {"learning_starts": 100})
    plain, fast = both_engines(algorithm, actions=actions, **values)
    norms: list[float | None] = []
    fast.after_gradient_step = norms.append
    sb3_gradients: dict[str, torch.Tensor] = {}
    # Recorded before each step: SB3's critics later get more gradients from the policy's loss.
    for name, module, optimizer in _learning_parts(plain):
        optimizer.register_step_pre_hook(
            lambda *_, n=name, m=module: _record_gradients(n, m, sb3_gradients)
        )

    if algorithm in ON_POLICY:
        update_alike(plain, fast)
    else:
        for model in (plain, fast):
            learn(model, 104)

    fast_gradients: dict[str, torch.Tensor] = {}
    for name, module, _ in _learning_parts(fast):
        _record_gradients(name, module, fast_gradients)
    assert set(fast_gradients) == set(sb3_gradients)
    for name, gradient in sb3_gradients.items():
        assert torch.allclose(fast_gradients[name], gradient, rtol=1e-4, atol=1e-6), name
    if algorithm in once:
        together = torch.cat([gradient.ravel() for gradient in sb3_gradients.values()]).norm()
        assert norms == [pytest.approx(float(together), rel=1e-5)]
    else:
        assert set(norms) == {None}


def _learning_parts(model: Any) -> list[tuple[str, Any, Any]]:
    policy = model.policy
    if hasattr(policy, "critic"):
        parts = {"actor": policy.actor, "critic": policy.critic}
        return [(name, part, part.optimizer) for name, part in parts.items()]
    return [("policy", getattr(policy, "q_net", policy), policy.optimizer)]


def _record_gradients(name: str, module: Any, observations: dict[str, torch.Tensor]) -> None:
    for inner, parameter in module.named_parameters():
        observations[f"{name}.{inner}"] = parameter.grad.clone()


@pytest.mark.parametrize(
    ("algorithm", "actions"),
    [("PPO", "discrete"), ("PPO", "box"), ("A2C", "discrete"), ("A2C", "box")]
    + [(algorithm, None) for algorithm in OFF_POLICY],
)
def test_a_model_continues_training_in_the_other_engine(
    algorithm: str, actions: str | None
) -> None:
    pair = PAIRS[algorithm]
    plain, fast = both_engines(algorithm, actions=actions)
    if algorithm in ON_POLICY:
        update_alike(plain, fast)
    else:
        for model in (plain, fast):
            learn(model, pair.steps // 2)

    now_fast = pair.fast.load(_saved(plain), env=plain.env, device="cpu")
    now_plain = pair.plain.load(_saved(fast), env=fast.env, device="cpu")

    for model in (now_fast, now_plain):
        model.set_logger(Logger(folder=None, output_formats=[]))
    update_alike(plain, fast, now_fast, now_plain)
    for model in (fast, now_fast, now_plain):
        assert difference(plain, model) < 1e-5


def _saved(model: Any) -> io.BytesIO:
    file = io.BytesIO()
    model.save(file)
    file.seek(0)
    return file


@pytest.mark.parametrize("algorithm", PAIRS)
def test_the_same_seed_gives_the_same_training_twice(algorithm: str) -> None:
    fast = PAIRS[algorithm].fast

    first, second = (learn(build(algorithm, fast, SPACE), 300) for _ in range(2))

    assert torch.equal(weights_of(first), weights_of(second))
