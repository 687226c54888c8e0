"""Read an untrusted model of Stable-Baselines3, and convert it to a policy snapshot.

Such a file consists of pickles: this runs in a sandboxed worker and nowhere else.
"""

import io
import pickle
from collections.abc import Mapping
from typing import Any, Literal

import torch
from stable_baselines3.common.save_util import load_from_zip_file
from stable_baselines3.common.vec_env import VecNormalize

from app.protocol import Channel, commands, messages
from app.worker.envs.vectorized.pipeline import make_evaluation_envs, normalizer
from app.worker.models.algorithms import ALGORITHMS, Implementation
from app.worker.models.hub_hyperparameters import read_hyperparameters
from app.worker.models.models import build_for_playing, save_weights

_IMPORTABLE = {name: one for name, one in ALGORITHMS.items() if one.net_arch is not None}
_ACTIVATIONS: dict[Any, Literal["tanh", "relu", "elu"]] = {
    torch.nn.Tanh: "tanh",
    torch.nn.ReLU: "relu",
    torch.nn.ELU: "elu",
}
_IGNORED_OPTIONS = {"ortho_init", "log_std_init", "optimizer_class", "optimizer_kwargs", "use_sde"}
_SUPPORTED_OPTIONS = {*_IGNORED_OPTIONS, "net_arch", "activation_fn", "n_quantiles", "n_critics"}
_DEFAULT_CLIP = 10.0


class _RefusedError(Exception):
    """The model can't be used; the text is the message for the user."""


def examine(_: commands.Examine, channel: Channel, content: bytes) -> None:
    """Report the algorithm and network of a model."""
    try:
        channel.send(_examined(content, _read(content)[0]))
    except _RefusedError as error:
        channel.send(messages.Refused(why=str(error)))


def convert_model(job: commands.ConvertModel, channel: Channel, content: bytes) -> None:
    """Send the policy as a policy snapshot."""
    try:
        weights = _convert(job, content[: job.model_size], content[job.model_size :])
    except _RefusedError as error:
        channel.send(messages.Refused(why=str(error)))
        return
    channel.send_file("policy.pt", weights)


def _read(content: bytes) -> tuple[Mapping[str, Any], Mapping[str, Any]]:
    # Functions that another Python version pickled; they are needed for learning only.
    placeholders = dict.fromkeys(
        ("learning_rate", "lr_schedule", "clip_range", "exploration_schedule")
    )
    try:
        data, params, _ = load_from_zip_file(
            io.BytesIO(content), device="cpu", custom_objects=placeholders
        )
        assert data is not None
        return data, {"policy": params["policy"]}
    except Exception as error:  # noqa: BLE001 - an untrusted file may raise anything
        kind = type(error).__name__
        raise _RefusedError(f"Stable-Baselines3 can't read this model ({kind}).") from None


def _examined(content: bytes, data: Mapping[str, Any]) -> messages.Examined:
    algorithm = _algorithm(data)
    options = data.get("policy_kwargs") or {}
    if unknown := sorted(set(options) - _SUPPORTED_OPTIONS):
        raise _RefusedError(
            f"The lab does not support the policy option {', '.join(unknown)[:200]}."
        )
    activation = options.get("activation_fn")
    if activation is not None and activation not in _ACTIVATIONS:
        raise _RefusedError("The lab does not support the activation function of this model.")
    net_arch = options.get("net_arch")
    implementation = _IMPORTABLE[algorithm]
    hyperparameters, not_told = read_hyperparameters(content, data, implementation)
    return messages.Examined(
        algorithm=algorithm,
        net_arch=_default_layers(implementation, data) if net_arch is None else _layers(net_arch),
        activation_fn=_ACTIVATIONS[activation or implementation.activation],
        hyperparameters=hyperparameters,
        unknown=not_told,
        n_envs=_count(data.get("n_envs")),
        seed=_count(data.get("seed")),
        timesteps=_count(data.get("num_timesteps")) or 0,
    )


def _count(value: object) -> int | None:
    is_count = isinstance(value, int) and not isinstance(value, bool) and value >= 0
    return int(value) if is_count else None  # type: ignore[call-overload]  # mypy doesn't narrow it


def _default_layers(implementation: Implementation, data: Mapping[str, Any]) -> tuple[int, ...]:
    """Return the layers that SB3 uses if none are named."""
    assert implementation.net_arch is not None
    name = str(getattr(data.get("policy_class"), "__name__", ""))
    return implementation.after_cnn if "Cnn" in name else implementation.net_arch


def _algorithm(data: Mapping[str, Any]) -> str:
    kind = data.get("policy_class")
    module = str(getattr(kind, "__module__", ""))
    for name, one in _IMPORTABLE.items():
        if one.policy_module == module and one.distinctive_key in data:
            return name
    *others, last = _IMPORTABLE
    raise _RefusedError(f"This is not a model of {', '.join(others)} or {last}.")


def _layers(net_arch: Any) -> tuple[int, ...] | dict[str, tuple[int, ...]]:  # noqa: ANN401 - untrusted
    if isinstance(net_arch, list) and len(net_arch) == 1 and isinstance(net_arch[0], dict):
        net_arch = net_arch[0]
    if isinstance(net_arch, dict):
        return {str(name): tuple(int(size) for size in part) for name, part in net_arch.items()}
    return tuple(int(size) for size in net_arch)


def _convert(job: commands.ConvertModel, content: bytes, normalization: bytes) -> bytes:
    envs = make_evaluation_envs(job.setup)
    model = build_for_playing(job.setup, envs)
    try:
        model.policy.load_state_dict(_read(content)[1]["policy"])
    except (RuntimeError, KeyError, TypeError):
        raise _RefusedError(
            f"The model doesn't match {job.setup.env_id}: its observations, actions or network "
            f"differ. Name its environment with env_id."
        ) from None
    vec_normalize = normalizer(envs)
    if normalization and vec_normalize is not None:
        statistics = _normalization(normalization)
        model_rms: Any = vec_normalize.obs_rms
        if statistics.mean.shape != model_rms.mean.shape:
            raise _RefusedError("The observation normalization belongs to another environment.")
        vec_normalize.obs_rms = statistics
    return save_weights(model, envs)


def _normalization(content: bytes) -> Any:  # noqa: ANN401 - running means of SB3
    try:
        found = pickle.loads(content)
        assert isinstance(found, VecNormalize)
        assert found.clip_obs == _DEFAULT_CLIP
    except Exception:  # noqa: BLE001 - an untrusted file may raise anything
        raise _RefusedError("Its observation normalization can't be read.") from None
    return found.obs_rms
