"""Where the default of a hyperparameter differs from Stable-Baselines3's."""

from collections.abc import Mapping
from dataclasses import replace

from app.catalog.algorithms.spec import AlgorithmSpec, Value
from app.core import write_value

_LONG_ROLLOUT = {"n_steps": 2_048}
_LARGE_BUFFER = {"buffer_size": 1_000_000, "learning_starts": 100}

_DIFFERENCES: Mapping[str, Mapping[str, Value]] = {
    # With 8 environments, as by default here, rollouts are as long as SB3's with one.
    "PPO": _LONG_ROLLOUT,
    "MaskablePPO": _LONG_ROLLOUT,
    "TRPO": _LONG_ROLLOUT,
    "RecurrentPPO": {"net_arch": (64, 64), "lstm_hidden_size": 256},
    # SB3's values are those for ten million steps of Atari; budgets here are smaller.
    "DQN": {
        **_LARGE_BUFFER,
        "learning_rate": 1e-4,
        "batch_size": 32,
        "target_update_interval": 10_000,
        "exploration_fraction": 0.1,
    },
    "QRDQN": {
        **_LARGE_BUFFER,
        "learning_rate": 5e-5,
        "batch_size": 32,
        "target_update_interval": 10_000,
        "exploration_fraction": 0.005,
        "exploration_final_eps": 0.01,
        "max_grad_norm": None,
        "n_quantiles": 200,
    },
    # Smaller buffers, because several workers share the memory of one machine.
    "SAC": _LARGE_BUFFER,
    "TQC": _LARGE_BUFFER,
    "CrossQ": _LARGE_BUFFER,
    "TD3": {**_LARGE_BUFFER, "action_noise": None},
}
"""SB3's defaults where they differ, by algorithm; a test compares all with SB3's classes."""

SB3_N_ENVS = 1
"""SB3's constructors create one environment."""


def sb3_defaults(spec: AlgorithmSpec) -> dict[str, Value]:
    """Return the default of every hyperparameter in Stable-Baselines3 or sb3-contrib."""
    ours = {parameter.name: parameter.default for parameter in spec.hyperparameters}
    return {**ours, **_DIFFERENCES.get(spec.id, {})}


def with_sb3_defaults(spec: AlgorithmSpec) -> AlgorithmSpec:
    """Add SB3's default to the description of each hyperparameter where it differs."""
    differences = _DIFFERENCES.get(spec.id, {})
    described = (
        replace(one, description=f"{one.description} SB3: {_in_words(differences[one.name])}.")
        if one.name in differences
        else one
        for one in spec.hyperparameters
    )
    return replace(spec, hyperparameters=tuple(described))


def _in_words(value: Value) -> str:
    return f"{value:,}" if isinstance(value, int) else write_value(value, nothing="null")
