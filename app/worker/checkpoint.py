"""Everything a training needs to go on as if it had never been interrupted.

A checkpoint is a zip of `model.zip` (a plain SB3 file), `state.pkl` and, off-policy, `buffer.pkl`.
Pickles are opened by workers only, inside their sandbox.
"""

import io
import pickle
import random
import zipfile
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from stable_baselines3.common.base_class import BaseAlgorithm
from stable_baselines3.common.off_policy_algorithm import OffPolicyAlgorithm
from stable_baselines3.common.vec_env import VecEnv

from app.worker.models import load_model, save_model
from app.worker.replayable import EpisodeSoFar

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
    counts: dict[str, Any]
    """What the reporter has counted so far."""


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
        counts=counts,
    )
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w") as archive:
        archive.writestr("model.zip", save_model(model))
        archive.writestr("state.pkl", pickle.dumps(state))
        if isinstance(model, OffPolicyAlgorithm):
            _add_buffer(archive, model)
    return packed.getvalue()


def restore(packed: bytes, algorithm: str, envs: VecEnv) -> Restored:
    """Unpack a checkpoint into fresh environments."""
    with zipfile.ZipFile(io.BytesIO(packed)) as archive:
        model = load_model(algorithm, archive.read("model.zip"), envs)
        state: Checkpoint = pickle.loads(archive.read("state.pkl"))
        notes = _restore_buffer(archive, model)
    notes += _restore_episodes(state.episodes, model, envs)
    # Last, because building the model and replaying the episodes drew random numbers.
    random.setstate(state.python_random)
    np.random.set_state(state.numpy_random)
    torch.set_rng_state(state.torch_random)
    model.action_space.np_random.bit_generator.state = state.action_random
    return Restored(model, state.counts, notes)


def _add_buffer(archive: zipfile.ZipFile, model: OffPolicyAlgorithm) -> None:
    content = io.BytesIO()
    model.save_replay_buffer(content)
    if content.tell() <= _LARGEST_BUFFER:
        archive.writestr("buffer.pkl", content.getvalue(), zipfile.ZIP_DEFLATED, _FAST)


def _restore_buffer(archive: zipfile.ZipFile, model: BaseAlgorithm) -> list[str]:
    if not isinstance(model, OffPolicyAlgorithm):
        return []
    if "buffer.pkl" not in archive.namelist():
        return ["The replay buffer was too large to keep; it fills anew."]
    model.load_replay_buffer(io.BytesIO(archive.read("buffer.pkl")))
    return []


def _restore_episodes(
    episodes: list[EpisodeSoFar], model: BaseAlgorithm, envs: VecEnv
) -> list[str]:
    lost = 0
    assert isinstance(model._last_obs, np.ndarray)
    for index, episode in enumerate(episodes):
        (observation,) = envs.env_method("bring_back", episode, indices=index)
        if not np.array_equal(observation, model._last_obs[index]):
            lost += 1
            (begun,) = envs.env_method("reset", indices=index)
            model._last_obs[index] = begun[0]
            if model._last_episode_starts is not None:
                model._last_episode_starts[index] = True
    return (
        [f"{lost} environments could not be brought back and began a new episode."] if lost else []
    )
