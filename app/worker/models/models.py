"""Build, save and load Stable-Baselines3 models."""

import io
from typing import Any

import numpy as np
import torch
from stable_baselines3.common.base_class import BaseAlgorithm
from stable_baselines3.common.logger import Logger
from stable_baselines3.common.noise import NormalActionNoise
from stable_baselines3.common.off_policy_algorithm import OffPolicyAlgorithm
from stable_baselines3.common.vec_env import VecEnv

from app.protocol import Schedule, commands
from app.worker.envs.environments import policy_kind
from app.worker.envs.vectorized.checked import BadEnvironmentError
from app.worker.envs.vectorized.pipeline import load_statistics, save_statistics
from app.worker.models.algorithms import ALGORITHMS
from app.worker.models.frame_buffer import store_frames_once
from app.worker.models.schedule_end import with_schedule_end
from app.worker.models.schedules import PiecewiseLinear, ScaledELU, ScaledReLU, ScaledTanh

_AUTO_IF_NULL = ("ent_coef", "target_entropy")
"""Hyperparameters for which null stands for SB3's "auto"."""
_ACTIVATIONS = {
    ("tanh", False): torch.nn.Tanh,
    ("relu", False): torch.nn.ReLU,
    ("elu", False): torch.nn.ELU,
    ("tanh", True): ScaledTanh,
    ("relu", True): ScaledReLU,
    ("elu", True): ScaledELU,
}
_SMALL_BUFFER: dict[str, Any] = {"buffer_size": 100}


def build_model(setup: commands.Setup, envs: VecEnv, **changes: Any) -> BaseAlgorithm:
    """Build the model of a setup; `changes` override its hyperparameters."""
    values = {**setup.hyperparameters, **changes}
    model_class = _model_class(setup, envs)
    buffer_size = values.get("buffer_size")
    has_frames = _has_frames(model_class, envs)
    if has_frames:
        values |= _SMALL_BUFFER
    model = model_class(
        _policy(model_class, setup, envs),
        envs,
        policy_kwargs=_policy_arguments(setup),
        device="cpu",
        **{name: _to_sb3(name, value, envs) for name, value in values.items()},
    )
    if has_frames and isinstance(model, OffPolicyAlgorithm):
        assert isinstance(buffer_size, int)
        store_frames_once(model, buffer_size, setup.wrappers.frame_stack)
    # The default logger would create a folder, but the sandbox has no writable one.
    model.set_logger(Logger(folder=None, output_formats=[]))
    return model


def build_for_playing(setup: commands.Setup, envs: VecEnv) -> BaseAlgorithm:
    """Build a model that never learns, with a minimal replay buffer."""
    changes = _SMALL_BUFFER if "buffer_size" in setup.hyperparameters else {}
    return build_model(setup, envs, **changes)


def load_model(setup: commands.Setup, content: bytes, envs: VecEnv) -> BaseAlgorithm:
    """Load a model that a worker saved with either engine, to continue its training."""
    file, model_class = io.BytesIO(content), _model_class(setup, envs)
    has_frames = _has_frames(model_class, envs)
    # SB3 warns of its own class for n-step returns, which a saved model names.
    more = {**_SMALL_BUFFER, "replay_buffer_class": None} if has_frames else {}
    model = model_class.load(file, env=envs, device="cpu", force_reset=False, **more)
    if has_frames and isinstance(model, OffPolicyAlgorithm):
        buffer_size = setup.hyperparameters["buffer_size"]
        assert isinstance(buffer_size, int)
        store_frames_once(model, buffer_size, setup.wrappers.frame_stack)
    model.set_logger(Logger(folder=None, output_formats=[]))
    return model


def save_model(model: BaseAlgorithm) -> bytes:
    """Return the model as the bytes of SB3's zip format."""
    buffer = io.BytesIO()
    model.save(buffer)
    return buffer.getvalue()


def save_weights(model: BaseAlgorithm, envs: VecEnv) -> bytes:
    """Return the policy and the observation statistics, for `load_weights` in another worker."""
    buffer = io.BytesIO()
    state = {"policy": model.policy.state_dict(), "observed": save_statistics(envs)}
    torch.save(state, buffer)
    return buffer.getvalue()


def load_weights(model: BaseAlgorithm, envs: VecEnv, weights: bytes) -> None:
    """Load the policy and the observation statistics that `save_weights` returned."""
    state = torch.load(io.BytesIO(weights), weights_only=True)
    model.policy.load_state_dict(state["policy"])
    load_statistics(envs, state["observed"])


def schedule(value: float | Schedule) -> float | PiecewiseLinear:
    """Convert a value or a schedule to what SB3 accepts."""
    return PiecewiseLinear(value.points) if isinstance(value, Schedule) else value


def _has_frames(model_class: type[BaseAlgorithm], envs: VecEnv) -> bool:
    """Whether a model has a replay buffer of images."""
    is_off_policy = issubclass(model_class, OffPolicyAlgorithm)
    return is_off_policy and policy_kind(envs.observation_space) == "Cnn"


def _model_class(setup: commands.Setup, envs: VecEnv) -> type[BaseAlgorithm]:
    classes = ALGORITHMS[setup.algorithm]
    if setup.engine == "sb3" or classes.fast is None:
        return with_schedule_end(classes.sb3)
    if policy_kind(envs.observation_space) != "Mlp":
        raise BadEnvironmentError(
            f"The observations of {setup.env_id} are images or dictionaries, which the fast engine "
            "does not support. Train a new run with engine sb3."
        )
    return with_schedule_end(classes.fast)


def _policy(model_class: type[BaseAlgorithm], setup: commands.Setup, envs: VecEnv) -> str:
    """Return SB3's name of the policy for the environments' observations, such as MlpLstmPolicy."""
    if setup.policy.get("linear"):
        return "LinearPolicy"
    prefix = policy_kind(envs.observation_space)
    return next(
        (name for name in model_class.policy_aliases if name.startswith(prefix)), "MlpPolicy"
    )


def _to_sb3(name: str, value: Any, envs: VecEnv) -> Any:  # noqa: ANN401 - SB3 takes all kinds
    """Convert a hyperparameter to what SB3 accepts."""
    if name in _AUTO_IF_NULL and value is None:
        return "auto"
    if name == "action_noise" and value is not None:
        size = envs.action_space.shape or ()
        return NormalActionNoise(np.zeros(size), np.full(size, value))
    return schedule(value)


def _policy_arguments(setup: commands.Setup) -> dict[str, Any]:
    values: dict[str, Any] = dict(setup.policy)
    if values.pop("linear", False):
        return {}
    layers = values.pop("net_arch", ())
    network = (values.pop("activation_fn"), values.pop("layer_norm", False))
    return {
        "net_arch": {name: list(sizes) for name, sizes in setup.networks.items()} or list(layers),
        "activation_fn": _ACTIVATIONS[network],
        **values,
    }
