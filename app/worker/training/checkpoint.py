"""Everything a training needs to go on as if it had never been interrupted.

A checkpoint is a zip of `model.zip` (a plain SB3 file), `state.pkl` and, off-policy, `buffer.pkl`.
Pickles are opened by workers only, inside their sandbox.
"""

import io
import pickle
import random
import zipfile
from collections.abc import Callable
from dataclasses import dataclass, fields
from typing import Any

import numpy as np
import torch
from stable_baselines3.common.base_class import BaseAlgorithm
from stable_baselines3.common.off_policy_algorithm import OffPolicyAlgorithm
from stable_baselines3.common.vec_env import VecEnv

from app.protocol import commands
from app.worker.envs.replayable import EpisodeSoFar
from app.worker.envs.vectorized.pipeline import load_layers, save_layers, see_anew
from app.worker.models.models import load_model, save_model

_LARGEST_BUFFER = 384 << 20
_FAST = 1


@dataclass(frozen=True, slots=True)
class Checkpoint:
    """What is not in SB3's own file."""

    python_random: Any
    numpy_random: Any
    torch_random: Any
    action_random: Any
    episodes: list[EpisodeSoFar]
    memory: Any
    """What a network with a memory remembers; SB3 forgets it when it loads."""
    layers: dict[str, Any]
    """What scaling and stacking remember."""
    counts: dict[str, Any]
    """What the reporter has counted so far."""
    threads: int = 1
    """On how many cores it learned: with another number the last digits would be others."""


@dataclass(frozen=True, slots=True)
class Restored:
    """A model that goes on where a checkpoint was taken."""

    model: BaseAlgorithm
    counts: dict[str, Any]
    notes: list[str]
    """What could not be brought back exactly."""


def take_checkpoint(model: BaseAlgorithm, envs: VecEnv, counts: dict[str, Any]) -> bytes:
    """Pack a model that is between two rollouts."""
    state = Checkpoint(
        python_random=random.getstate(),
        numpy_random=np.random.get_state(),
        torch_random=torch.get_rng_state(),
        action_random=model.action_space.np_random.bit_generator.state,
        episodes=envs.env_method("so_far"),
        memory=getattr(model, "_last_lstm_states", None),
        layers=save_layers(envs),
        counts=counts,
        threads=torch.get_num_threads(),
    )
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w") as archive:
        archive.writestr("model.zip", save_model(model))
        archive.writestr("state.pkl", pickle.dumps(_plain(state)))
        if isinstance(model, OffPolicyAlgorithm):
            _add_buffer(archive, model)
    return packed.getvalue()


def restore(
    packed: bytes, setup: commands.Setup, envs: VecEnv, *, alive: Callable[[], None] = lambda: None
) -> Restored:
    """Unpack a checkpoint into fresh environments; `alive` is called every now and then."""
    with zipfile.ZipFile(io.BytesIO(packed)) as archive:
        model = load_model(setup, archive.read("model.zip"), envs)
        state = _read_state(archive.read("state.pkl"))
        notes = _restore_buffer(archive, model)
    torch.set_num_threads(getattr(state, "threads", 1))  # older checkpoints don't say
    # Loading seeded the environments once more; their next episode must not begin with that.
    envs.unwrapped._reset_seeds()
    if state.memory is not None:
        model._last_lstm_states = state.memory  # type: ignore[attr-defined]  # RecurrentPPO's
    load_layers(envs, state.layers)
    notes += _restore_episodes(state.episodes, model, envs, alive)
    # Last, because building the model and replaying the episodes drew random numbers.
    random.setstate(state.python_random)
    np.random.set_state(state.numpy_random)
    torch.set_rng_state(state.torch_random)
    model.action_space.np_random.bit_generator.state = state.action_random
    return Restored(model, state.counts, notes)


def _plain(state: Checkpoint) -> dict[str, Any]:
    """Return what names no class of ours: classes move, checkpoints stay."""
    return {**_fields(state), "episodes": [_fields(episode) for episode in state.episodes]}


def _fields(value: Checkpoint | EpisodeSoFar) -> dict[str, Any]:
    # Not `asdict`: it would copy every action.
    return {field.name: getattr(value, field.name) for field in fields(value)}


def _read_state(packed: bytes) -> Checkpoint:
    found = _Unpickler(io.BytesIO(packed)).load()
    if isinstance(found, Checkpoint):
        return found
    episodes = [EpisodeSoFar(**episode) for episode in found["episodes"]]
    return Checkpoint(**{**found, "episodes": episodes})


class _Unpickler(pickle.Unpickler):
    """Reads checkpoints of version 0.1, too, which name our classes where they were then."""

    def find_class(self, module: str, name: str) -> Any:  # noqa: ANN401 - whatever it names
        return _MOVED.get((module, name)) or super().find_class(module, name)


_MOVED: dict[tuple[str, str], type] = {
    ("app.worker.checkpoint", "Checkpoint"): Checkpoint,
    ("app.worker.replayable", "EpisodeSoFar"): EpisodeSoFar,
}


def _add_buffer(archive: zipfile.ZipFile, model: OffPolicyAlgorithm) -> None:
    # Asked first: packing a buffer takes as much memory again.
    if _size(vars(model.replay_buffer)) > _LARGEST_BUFFER:
        return
    content = io.BytesIO()
    model.save_replay_buffer(content)
    archive.writestr("buffer.pkl", content.getbuffer(), zipfile.ZIP_DEFLATED, _FAST)


def _size(held: Any) -> int:  # noqa: ANN401 - arrays, and dicts of them
    if isinstance(held, dict):
        return sum(map(_size, held.values()))
    return held.nbytes if isinstance(held, np.ndarray) else 0


def _restore_buffer(archive: zipfile.ZipFile, model: BaseAlgorithm) -> list[str]:
    if not isinstance(model, OffPolicyAlgorithm):
        return []
    if "buffer.pkl" not in archive.namelist():
        return ["The replay buffer was too large to keep; it fills anew."]
    model.load_replay_buffer(io.BytesIO(archive.read("buffer.pkl")))
    return []


def _restore_episodes(
    episodes: list[EpisodeSoFar], model: BaseAlgorithm, envs: VecEnv, alive: Callable[[], None]
) -> list[str]:
    back = []
    for index, episode in enumerate(episodes):
        back += envs.env_method("bring_back", episode, indices=index)
        alive()
    lost = [index for index, is_back in enumerate(back) if not is_back]
    if not lost:
        return []
    if isinstance(model._last_obs, np.ndarray):
        _begin_anew(lost, model, envs)
    return [f"{len(lost)} environments could not be brought back and began a new episode."]


def _begin_anew(lost: list[int], model: BaseAlgorithm, envs: VecEnv) -> None:
    assert isinstance(model._last_obs, np.ndarray)
    begun = {index: envs.env_method("reset", indices=index)[0][0] for index in lost}
    first = next(iter(begun.values()))
    observed = np.stack([begun.get(index, first) for index in range(envs.num_envs)])
    kept = save_layers(envs)
    seen = see_anew(envs, observed)
    if "stacked" in kept:
        stacked = kept["stacked"]
        stacked[lost] = save_layers(envs)["stacked"][lost]
        load_layers(envs, kept)
    model._last_obs[lost] = seen[lost]
    if model._last_episode_starts is not None:
        model._last_episode_starts[lost] = True
