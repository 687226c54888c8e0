"""Build Stable-Baselines3 models from a job's plain values."""

import io
from collections.abc import Callable, Mapping
from typing import Any

import gymnasium as gym
import numpy as np
import sb3_contrib
import stable_baselines3
import torch
from stable_baselines3.common.base_class import BaseAlgorithm
from stable_baselines3.common.logger import Logger
from stable_baselines3.common.monitor import Monitor
from stable_baselines3.common.noise import NormalActionNoise
from stable_baselines3.common.vec_env import DummyVecEnv, VecEnv

from app.worker import messages
from app.worker.replayable import Replayable

_ALGORITHMS: dict[str, type[BaseAlgorithm]] = {
    "PPO": stable_baselines3.PPO,
    "A2C": stable_baselines3.A2C,
    "DQN": stable_baselines3.DQN,
    "SAC": stable_baselines3.SAC,
    "TD3": stable_baselines3.TD3,
    "QRDQN": sb3_contrib.QRDQN,
    "TQC": sb3_contrib.TQC,
    "TRPO": sb3_contrib.TRPO,
    "CrossQ": sb3_contrib.CrossQ,
}
_FOUND_BY_ITSELF = ("ent_coef", "target_entropy")
"""What SB3 writes as "auto" and the lab as null."""
_ACTIVATIONS = {"tanh": torch.nn.Tanh, "relu": torch.nn.ReLU, "elu": torch.nn.ELU}
_OF_THE_POLICY = ("net_arch", "activation_fn")


def make_training_envs(env_id: str, n_envs: int) -> VecEnv:
    """Make the environments that a model collects from.

    Without a render mode: LunarLander would simulate its exhaust as soon as it could be drawn.
    """

    def make() -> gym.Env[Any, Any]:
        return Replayable(Monitor(gym.make(env_id)))

    makers: list[Callable[[], gym.Env[Any, Any]]] = [make] * n_envs
    return DummyVecEnv(makers)


def build_model(job: messages.Train | messages.View, envs: VecEnv, **changes: Any) -> BaseAlgorithm:
    """Build the model that the job describes; `changes` replace some of its values."""
    values = {**job.hyperparameters, **changes}
    own = {
        name: _translate(name, value, envs)
        for name, value in values.items()
        if name not in _OF_THE_POLICY
    }
    model = _ALGORITHMS[job.algorithm](
        "MlpPolicy",
        envs,
        policy_kwargs=_policy_arguments(values),
        device="cpu",
        **own,
    )
    # The default logger would make a folder, and there is none to write to.
    model.set_logger(Logger(folder=None, output_formats=[]))
    return model


def load_model(algorithm: str, content: bytes, envs: VecEnv) -> BaseAlgorithm:
    """Read a model that this worker's kind saved, to go on where it was."""
    file = io.BytesIO(content)
    model = _ALGORITHMS[algorithm].load(file, env=envs, device="cpu", force_reset=False)
    model.set_logger(Logger(folder=None, output_formats=[]))
    return model


def save_model(model: BaseAlgorithm) -> bytes:
    """Return the model as the bytes of a plain SB3 zip."""
    buffer = io.BytesIO()
    model.save(buffer)
    return buffer.getvalue()


def save_weights(model: BaseAlgorithm) -> bytes:
    """Return the policy's weights for `load_weights` in another worker."""
    buffer = io.BytesIO()
    torch.save(model.policy.state_dict(), buffer)
    return buffer.getvalue()


def load_weights(model: BaseAlgorithm, weights: bytes) -> None:
    """Give the policy the weights that `save_weights` returned."""
    state = torch.load(io.BytesIO(weights), weights_only=True)
    model.policy.load_state_dict(state)


def _translate(name: str, value: Any, envs: VecEnv) -> Any:  # noqa: ANN401 - SB3 takes all kinds
    """Turn the lab's plain values into what SB3 takes."""
    if name in _FOUND_BY_ITSELF and value is None:
        return "auto"
    if name == "action_noise" and value is not None:
        size = envs.action_space.shape or ()
        return NormalActionNoise(np.zeros(size), np.full(size, value))
    return value


def _policy_arguments(values: Mapping[str, Any]) -> dict[str, Any]:
    return {
        "net_arch": list(values["net_arch"]),
        "activation_fn": _ACTIVATIONS[values["activation_fn"]],
    }
