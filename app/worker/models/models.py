"""Build Stable-Baselines3 models from a job's plain values."""

import io
from collections.abc import Mapping
from typing import Any

import msgspec
import numpy as np
import sb3_contrib
import stable_baselines3
import torch
from stable_baselines3.common.base_class import BaseAlgorithm
from stable_baselines3.common.logger import Logger
from stable_baselines3.common.noise import NormalActionNoise
from stable_baselines3.common.vec_env import VecEnv

from app.protocol import commands
from app.protocol.engine import why_not_fast
from app.protocol.schedule import Schedule
from app.worker.envs.environments import policy_kind
from app.worker.envs.vectorized.pipeline import load_statistics, save_statistics
from app.worker.fast.off_policy.dqn import FastDQN
from app.worker.fast.off_policy.sac import FastSAC
from app.worker.fast.off_policy.td3 import FastTD3
from app.worker.fast.off_policy.tqc import FastTQC
from app.worker.fast.on_policy.a2c import FastA2C
from app.worker.fast.on_policy.ppo import FastPPO
from app.worker.models.ars import Ars
from app.worker.models.schedules import PiecewiseLinear, ScaledELU, ScaledReLU, ScaledTanh

_ALGORITHMS: dict[str, type[BaseAlgorithm]] = {
    "PPO": stable_baselines3.PPO,
    "A2C": stable_baselines3.A2C,
    "DQN": stable_baselines3.DQN,
    "SAC": stable_baselines3.SAC,
    "TD3": stable_baselines3.TD3,
    "QRDQN": sb3_contrib.QRDQN,
    "TQC": sb3_contrib.TQC,
    "TRPO": sb3_contrib.TRPO,
    "RecurrentPPO": sb3_contrib.RecurrentPPO,
    "MaskablePPO": sb3_contrib.MaskablePPO,
    "ARS": Ars,
    "CrossQ": sb3_contrib.CrossQ,
}
_FAST: dict[str, type[BaseAlgorithm]] = {
    "PPO": FastPPO,
    "A2C": FastA2C,
    "DQN": FastDQN,
    "SAC": FastSAC,
    "TD3": FastTD3,
    "TQC": FastTQC,
}
"""The same algorithms in the fast engine."""
_OBSERVED = {"Mlp": "box", "Cnn": "image", "MultiInput": "dict"}
_FOUND_BY_ITSELF = ("ent_coef", "target_entropy")
"""What SB3 writes as "auto" and the lab as null, where an algorithm has a target for it."""
_ACTIVATIONS = {
    ("tanh", False): torch.nn.Tanh,
    ("relu", False): torch.nn.ReLU,
    ("elu", False): torch.nn.ELU,
    ("tanh", True): ScaledTanh,
    ("relu", True): ScaledReLU,
    ("elu", True): ScaledELU,
}
_SMALL_BUFFER = {"buffer_size": 100}
OF_THE_POLICY = frozenset(
    {
        *("net_arch", "activation_fn", "layer_norm", "ortho_init", "log_std_init", "linear"),
        *("n_quantiles", "n_critics"),
        *("lstm_hidden_size", "n_lstm_layers", "shared_lstm", "enable_critic_lstm"),
    }
)
"""Hyperparameters that SB3 takes as arguments of the policy."""


def settle_engine(setup: commands.Setup, envs: VecEnv) -> tuple[commands.Setup, str | None]:
    """Leave the fast engine if the environment turns out to be one it can't do, and say why."""
    if setup.engine == "sb3":
        return setup, None
    observed = _OBSERVED[policy_kind(envs.observation_space)]
    why_not = why_not_fast(setup.algorithm, setup.hyperparameters, observed)
    if why_not is None:
        return setup, None
    return msgspec.structs.replace(setup, engine="sb3"), why_not


def build_model(setup: commands.Setup, envs: VecEnv, **changes: Any) -> BaseAlgorithm:
    """Build the model that a job describes; `changes` replace some of its values."""
    values = {**setup.hyperparameters, **changes}
    own = {
        name: _translate(name, value, envs)
        for name, value in values.items()
        if name not in OF_THE_POLICY
    }
    model = _kind(setup)(
        _policy(setup.algorithm, values, envs),
        envs,
        policy_kwargs=_policy_arguments(setup, values),
        device="cpu",
        **own,
    )
    # The default logger would make a folder, and there is none to write to.
    model.set_logger(Logger(folder=None, output_formats=[]))
    return model


def build_for_playing(setup: commands.Setup, envs: VecEnv) -> BaseAlgorithm:
    """Build a model that never learns, so it needs no memory of past steps."""
    changes = _SMALL_BUFFER if "buffer_size" in setup.hyperparameters else {}
    return build_model(setup, envs, **changes)


def load_model(setup: commands.Setup, content: bytes, envs: VecEnv) -> BaseAlgorithm:
    """Read a model that this worker's kind saved, with either engine, to go on where it was."""
    file = io.BytesIO(content)
    model = _kind(setup).load(file, env=envs, device="cpu", force_reset=False)
    model.set_logger(Logger(folder=None, output_formats=[]))
    return model


def save_model(model: BaseAlgorithm) -> bytes:
    """Return the model as the bytes of a plain SB3 zip."""
    buffer = io.BytesIO()
    model.save(buffer)
    return buffer.getvalue()


def save_weights(model: BaseAlgorithm, envs: VecEnv) -> bytes:
    """Return the policy and how it sees, for `load_weights` in another worker."""
    buffer = io.BytesIO()
    state = {"policy": model.policy.state_dict(), "observed": save_statistics(envs)}
    torch.save(state, buffer)
    return buffer.getvalue()


def load_weights(model: BaseAlgorithm, envs: VecEnv, weights: bytes) -> None:
    """Give the policy what `save_weights` returned."""
    state = torch.load(io.BytesIO(weights), weights_only=True)
    model.policy.load_state_dict(state["policy"])
    load_statistics(envs, state["observed"])


def schedule(value: float | Schedule) -> float | PiecewiseLinear:
    """Return a value as SB3 takes it where it may change."""
    return PiecewiseLinear(value.points) if isinstance(value, Schedule) else value


def _kind(setup: commands.Setup) -> type[BaseAlgorithm]:
    kinds = _FAST if setup.engine == "fast" else _ALGORITHMS
    return kinds[setup.algorithm]


def _policy(algorithm: str, values: Mapping[str, Any], envs: VecEnv) -> str:
    if algorithm == "ARS":
        return "LinearPolicy" if values["linear"] else "MlpPolicy"
    kind = policy_kind(envs.observation_space)
    return f"{kind}LstmPolicy" if algorithm == "RecurrentPPO" else f"{kind}Policy"


def _translate(name: str, value: Any, envs: VecEnv) -> Any:  # noqa: ANN401 - SB3 takes all kinds
    """Turn the lab's plain values into what SB3 takes."""
    if name in _FOUND_BY_ITSELF and value is None:
        return "auto"
    if name == "action_noise" and value is not None:
        size = envs.action_space.shape or ()
        return NormalActionNoise(np.zeros(size), np.full(size, value))
    return schedule(value)


def _policy_arguments(setup: commands.Setup, values: Mapping[str, Any]) -> dict[str, Any]:
    if values.get("linear"):
        return {}
    network = (values["activation_fn"], values.get("layer_norm", False))
    same = OF_THE_POLICY - {"net_arch", "activation_fn", "layer_norm", "linear"}
    return {
        "net_arch": {name: list(sizes) for name, sizes in setup.networks.items()}
        or list(values["net_arch"]),
        "activation_fn": _ACTIVATIONS[network],
        **{name: values[name] for name in same if name in values},
    }
