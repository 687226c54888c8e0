"""Checkpoints: everything needed to resume a training exactly.

A checkpoint is a zip of `model.zip` (a plain SB3 file), `state.pkl` and, off-policy, `buffer.pkl`.
Only sandboxed workers unpickle these files.
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
from app.worker.envs.vectorized.pipeline import (
    load_wrapper_state,
    observe_reset,
    save_wrapper_state,
)
from app.worker.models.models import load_model, save_model

_MAX_BUFFER_BYTES = 384 << 20
_COMPRESSION_LEVEL = 1


@dataclass(frozen=True, slots=True)
class Checkpoint:
    """The state that SB3's own file doesn't have; stored by field name."""

    python_random: Any
    numpy_random: Any
    torch_random: Any
    action_random: Any
    episodes: list[EpisodeSoFar]
    memory: Any
    """The state of a recurrent network, which SB3 doesn't restore."""
    layers: dict[str, Any]
    """The state of normalization and frame stacking."""
    counts: dict[str, Any]
    """The counters of the training callback."""
    threads: int = 1
    """Number of torch threads; another number would change rounding errors."""


@dataclass(frozen=True, slots=True)
class Restored:
    """A model restored from a checkpoint."""

    model: BaseAlgorithm
    counts: dict[str, Any]
    notes: list[str]
    """What could not be restored exactly."""


def take_checkpoint(model: BaseAlgorithm, envs: VecEnv, counts: dict[str, Any]) -> bytes:
    """Return a checkpoint of a model, which must be between two rollouts."""
    state = Checkpoint(
        python_random=random.getstate(),
        numpy_random=np.random.get_state(),
        torch_random=torch.get_rng_state(),
        action_random=model.action_space.np_random.bit_generator.state,
        episodes=envs.env_method("current_episode"),
        memory=getattr(model, "_last_lstm_states", None),
        layers=save_wrapper_state(envs),
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
    packed: bytes,
    setup: commands.Setup,
    envs: VecEnv,
    *,
    on_progress: Callable[[], None] = lambda: None,
) -> Restored:
    """Restore a checkpoint with new environments; call `on_progress` after each of them."""
    with zipfile.ZipFile(io.BytesIO(packed)) as archive:
        model = load_model(setup, archive.read("model.zip"), envs)
        state = _read_state(archive.read("state.pkl"))
        notes = _restore_buffer(archive, model)
    torch.set_num_threads(getattr(state, "threads", 1))  # older checkpoints don't have it
    # Loading seeds the environments; their next episode must not use that seed.
    envs.unwrapped._reset_seeds()
    if state.memory is not None:
        model._last_lstm_states = state.memory  # type: ignore[attr-defined]  # RecurrentPPO's
    load_wrapper_state(envs, state.layers)
    notes += _restore_episodes(state.episodes, model, envs, on_progress)
    # Last, because building the model and replaying the episodes draw random numbers.
    random.setstate(state.python_random)
    np.random.set_state(state.numpy_random)
    torch.set_rng_state(state.torch_random)
    model.action_space.np_random.bit_generator.state = state.action_random
    return Restored(model, state.counts, notes)


def _plain(state: Checkpoint) -> dict[str, Any]:
    """Return the state without our classes, so that moved classes don't break old checkpoints."""
    return {**_fields(state), "episodes": [_fields(episode) for episode in state.episodes]}


def _fields(value: Checkpoint | EpisodeSoFar) -> dict[str, Any]:
    # Not `asdict`: it would copy every action.
    return {field.name: getattr(value, field.name) for field in fields(value)}


def _read_state(packed: bytes) -> Checkpoint:
    state = _Unpickler(io.BytesIO(packed)).load()
    if isinstance(state, Checkpoint):
        for episode in state.episodes:
            # Version 0.1 didn't save simulations.
            object.__setattr__(episode, "snapshot", None)
        return state
    episodes = [EpisodeSoFar(**episode) for episode in state["episodes"]]
    return Checkpoint(**{**state, "episodes": episodes})


class _Unpickler(pickle.Unpickler):
    """Also reads checkpoints of version 0.1, which refer to our classes at their old places."""

    def find_class(self, module: str, name: str) -> Any:  # noqa: ANN401 - whatever it names
        return _MOVED.get((module, name)) or super().find_class(module, name)


_MOVED: dict[tuple[str, str], type] = {
    ("app.worker.checkpoint", "Checkpoint"): Checkpoint,
    ("app.worker.replayable", "EpisodeSoFar"): EpisodeSoFar,
}


def _add_buffer(archive: zipfile.ZipFile, model: OffPolicyAlgorithm) -> None:
    # Checked first, because packing a buffer doubles its memory.
    if _size(vars(model.replay_buffer)) > _MAX_BUFFER_BYTES:
        return
    content = io.BytesIO()
    model.save_replay_buffer(content)
    archive.writestr("buffer.pkl", content.getbuffer(), zipfile.ZIP_DEFLATED, _COMPRESSION_LEVEL)


def _size(value: Any) -> int:  # noqa: ANN401 - arrays, and dicts of them
    if isinstance(value, dict):
        return sum(map(_size, value.values()))
    return value.nbytes if isinstance(value, np.ndarray) else 0


def _restore_buffer(archive: zipfile.ZipFile, model: BaseAlgorithm) -> list[str]:
    if not isinstance(model, OffPolicyAlgorithm):
        return []
    if "buffer.pkl" not in archive.namelist():
        return ["The replay buffer was too large to save; it starts empty."]
    model.load_replay_buffer(io.BytesIO(archive.read("buffer.pkl")))
    return []


def _restore_episodes(
    episodes: list[EpisodeSoFar],
    model: BaseAlgorithm,
    envs: VecEnv,
    on_progress: Callable[[], None],
) -> list[str]:
    restored = []
    for index, episode in enumerate(episodes):
        restored += envs.env_method("replay_episode", episode, indices=index)
        on_progress()
    failed = [index for index, is_restored in enumerate(restored) if not is_restored]
    if not failed:
        return []
    if isinstance(model._last_obs, np.ndarray):
        _start_new_episodes(failed, model, envs)
    return [f"{len(failed)} environments could not be restored and started a new episode."]


def _start_new_episodes(indices: list[int], model: BaseAlgorithm, envs: VecEnv) -> None:
    assert isinstance(model._last_obs, np.ndarray)
    first = {index: envs.env_method("reset", indices=index)[0][0] for index in indices}
    filler = next(iter(first.values()))
    batch = np.stack([first.get(index, filler) for index in range(envs.num_envs)])
    saved = save_wrapper_state(envs)
    observations = observe_reset(envs, batch)
    if "stacked" in saved:
        saved["stacked"][indices] = save_wrapper_state(envs)["stacked"][indices]
        load_wrapper_state(envs, saved)
    model._last_obs[indices] = observations[indices]
    if model._last_episode_starts is not None:
        model._last_episode_starts[indices] = True
