"""Look at a stranger's model of Stable-Baselines3, and make a policy of this lab's kind of it.

Such a file is full of pickles: this runs in a locked worker and nowhere else.
"""

import io
import pickle
from collections.abc import Mapping
from typing import Any, Literal

import torch
from stable_baselines3.common.save_util import load_from_zip_file
from stable_baselines3.common.vec_env import VecNormalize

from app.protocol import commands, messages
from app.protocol.pipe import Channel
from app.worker.envs.vectorized.pipeline import make_evaluation_envs, normalizer
from app.worker.models.models import build_for_playing, save_weights

_MODULES = {
    "stable_baselines3.dqn.policies": "DQN",
    "stable_baselines3.sac.policies": "SAC",
    "stable_baselines3.td3.policies": "TD3",
    "sb3_contrib.qrdqn.policies": "QRDQN",
    "sb3_contrib.tqc.policies": "TQC",
}
_LAYERS = {"SAC": (256, 256), "TQC": (256, 256), "TD3": (400, 300)}
_OTHERS_LAYERS = (64, 64)
_ACTIVATIONS: dict[Any, Literal["tanh", "relu", "elu"]] = {
    torch.nn.Tanh: "tanh",
    torch.nn.ReLU: "relu",
    torch.nn.ELU: "elu",
}
_WITHOUT_EFFECT = {"ortho_init", "log_std_init", "optimizer_class", "optimizer_kwargs", "use_sde"}
_KNOWN = {*_WITHOUT_EFFECT, "net_arch", "activation_fn", "n_quantiles", "n_critics"}
_USUAL_CLIP = 10.0


class _RefusedError(Exception):
    """Nothing can be made of it; the text is the whole sentence."""


def examine(_: commands.Examine, channel: Channel, content: bytes) -> None:
    """Say what kind of model it is."""
    try:
        channel.send(_examined(_read(content)[0]))
    except _RefusedError as error:
        channel.send(messages.Refused(why=str(error)))


def adopt(job: commands.Adopt, channel: Channel, content: bytes) -> None:
    """Deliver the policy as the lab keeps them."""
    try:
        weights = _adopted(job, content[: job.model_size], content[job.model_size :])
    except _RefusedError as error:
        channel.send(messages.Refused(why=str(error)))
        return
    channel.send_file("policy.pt", weights)


def _read(content: bytes) -> tuple[Mapping[str, Any], Mapping[str, Any]]:
    # Functions that were pickled by another Python; nothing here learns, so nobody needs them.
    spare = dict.fromkeys(("learning_rate", "lr_schedule", "clip_range", "exploration_schedule"))
    try:
        data, params, _ = load_from_zip_file(
            io.BytesIO(content), device="cpu", custom_objects=spare
        )
        assert data is not None
        return data, {"policy": params["policy"]}
    except Exception as error:  # noqa: BLE001 - whatever a stranger's file makes of it
        kind = type(error).__name__
        raise _RefusedError(f"Stable-Baselines3 can't read this model ({kind}).") from None


def _examined(data: Mapping[str, Any]) -> messages.Examined:
    algorithm = _algorithm(data)
    given = data.get("policy_kwargs") or {}
    if unknown := sorted(set(given) - _KNOWN):
        raise _RefusedError(f"The lab has no network with {', '.join(unknown)[:200]}.")
    activation = given.get("activation_fn")
    if activation is not None and activation not in _ACTIVATIONS:
        raise _RefusedError("The lab has no network with this activation function.")
    more = {name: int(given[name]) for name in ("n_quantiles", "n_critics") if name in given}
    usual = torch.nn.Tanh if algorithm in ("PPO", "A2C") else torch.nn.ReLU
    return messages.Examined(
        algorithm=algorithm,
        net_arch=_layers(given.get("net_arch"), _LAYERS.get(algorithm, _OTHERS_LAYERS)),
        activation_fn=_ACTIVATIONS[activation or usual],
        more=more,
        timesteps=max(0, int(data.get("num_timesteps") or 0)),
    )


def _algorithm(data: Mapping[str, Any]) -> str:
    kind = data.get("policy_class")
    module = str(getattr(kind, "__module__", ""))
    if module in _MODULES:
        return _MODULES[module]
    if module == "stable_baselines3.common.policies":
        return "PPO" if "n_epochs" in data else "A2C"
    raise _RefusedError("This is no model of PPO, A2C, DQN, SAC, TD3, QRDQN or TQC.")


def _layers(
    given: Any,  # noqa: ANN401 - a stranger's
    usual: tuple[int, ...],
) -> tuple[int, ...] | dict[str, tuple[int, ...]]:
    if given is None:
        return usual
    if isinstance(given, list) and len(given) == 1 and isinstance(given[0], dict):
        given = given[0]
    if isinstance(given, dict):
        return {str(name): tuple(int(size) for size in part) for name, part in given.items()}
    return tuple(int(size) for size in given)


def _adopted(job: commands.Adopt, model: bytes, scaling: bytes) -> bytes:
    envs = make_evaluation_envs(job.setup)
    ours = build_for_playing(job.setup, envs)
    try:
        ours.policy.load_state_dict(_read(model)[1]["policy"])
    except (RuntimeError, KeyError, TypeError):
        raise _RefusedError(
            f"The model doesn't fit {job.setup.env_id}: its observations, actions or network are "
            "others. Name its environment with env_id."
        ) from None
    seen = normalizer(envs)
    if scaling and seen is not None:
        theirs = _scaling(scaling)
        ours_rms: Any = seen.obs_rms
        if theirs.mean.shape != ours_rms.mean.shape:
            raise _RefusedError("The scaling of observations is of another environment.")
        seen.obs_rms = theirs
    return save_weights(ours, envs)


def _scaling(content: bytes) -> Any:  # noqa: ANN401 - running means of SB3
    try:
        found = pickle.loads(content)
        assert isinstance(found, VecNormalize)
        assert found.clip_obs == _USUAL_CLIP
    except Exception:  # noqa: BLE001 - whatever a stranger's file makes of it
        raise _RefusedError("The scaling of its observations can't be read.") from None
    return found.obs_rms
