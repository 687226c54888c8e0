"""Recorded episodes, and their serialization without pickle."""

import io
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import msgspec
import numpy as np

Kind = Literal["random", "medium", "good", "probe"]
Observations = np.ndarray[Any, Any] | dict[str, np.ndarray[Any, Any]]

_ONLY_PART = ""
"""The name of an observation that is a single array."""
_COMPRESS_FROM = 4 << 20
"""Recordings of more bytes are compressed."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RecordedEpisode:
    """An episode, or its beginning; it has one more observation than actions."""

    observations: Observations
    actions: np.ndarray[Any, Any]
    rewards: np.ndarray[Any, Any]
    terminated: bool
    truncated: bool
    infos: Sequence[dict[str, Any]]

    @property
    def length(self) -> int:
        """The number of steps."""
        return len(self.rewards)

    def observation_at(self, step: int) -> Any:  # noqa: ANN401 - an array, a number or a dict of them
        """Return the observation before a step."""
        if isinstance(self.observations, dict):
            return {name: part[step] for name, part in self.observations.items()}
        return self.observations[step]


@dataclass(frozen=True, slots=True, kw_only=True)
class Group:
    """The episodes of one policy."""

    name: str
    kind: Kind
    origin: str
    """A description of the policy."""
    episodes: Sequence[RecordedEpisode]


@dataclass(frozen=True, slots=True)
class Recording:
    """All recorded episodes of an environment."""

    groups: Sequence[Group]
    step_microseconds: float
    """The duration of a step of the environment itself."""


class _Episode(msgspec.Struct, frozen=True):
    length: int
    terminated: bool
    truncated: bool
    infos: list[dict[str, Any]]


class _Group(msgspec.Struct, frozen=True):
    name: str
    kind: Kind
    origin: str
    episodes: list[_Episode]


class _Facts(msgspec.Struct, frozen=True):
    step_microseconds: float
    groups: list[_Group]


def pack(recording: Recording) -> bytes:
    """Return a recording as the bytes of an npz file."""
    episodes = [episode for group in recording.groups for episode in group.episodes]
    arrays: dict[str, Any] = {
        "actions": np.concatenate([episode.actions for episode in episodes]),
        "rewards": np.concatenate([episode.rewards for episode in episodes]),
    }
    for name in _parts(episodes[0].observations):
        parts = [_parts(episode.observations)[name] for episode in episodes]
        arrays[f"seen:{name}"] = np.concatenate(parts)
    facts = _Facts(recording.step_microseconds, [_facts(group) for group in recording.groups])
    arrays["facts"] = np.frombuffer(msgspec.json.encode(facts), np.uint8)
    file = io.BytesIO()
    is_large = sum(array.nbytes for array in arrays.values()) > _COMPRESS_FROM
    (np.savez_compressed if is_large else np.savez)(file, **arrays)
    return file.getvalue()


def unpack(content: bytes) -> Recording:
    """Read what `pack` returned."""
    with np.load(io.BytesIO(content), allow_pickle=False) as file:
        arrays = dict(file)
    facts = msgspec.json.decode(arrays.pop("facts").tobytes(), type=_Facts)
    observations = {
        name.removeprefix("seen:"): a for name, a in arrays.items() if name[:5] == "seen:"
    }
    step, index = 0, 0
    groups = []
    for group in facts.groups:
        episodes = []
        for one in group.episodes:
            steps = slice(step, step + one.length)
            before = slice(step + index, step + index + one.length + 1)
            parts = {name: array[before] for name, array in observations.items()}
            episodes.append(
                RecordedEpisode(
                    observations=parts.get(_ONLY_PART, parts),
                    actions=arrays["actions"][steps],
                    rewards=arrays["rewards"][steps],
                    terminated=one.terminated,
                    truncated=one.truncated,
                    infos=one.infos,
                )
            )
            step, index = step + one.length, index + 1
        groups.append(
            Group(name=group.name, kind=group.kind, origin=group.origin, episodes=episodes)
        )
    return Recording(groups, facts.step_microseconds)


def _parts(observations: Observations) -> Mapping[str, np.ndarray[Any, Any]]:
    return observations if isinstance(observations, dict) else {_ONLY_PART: observations}


def _facts(group: Group) -> _Group:
    episodes = [
        _Episode(one.length, one.terminated, one.truncated, list(one.infos))
        for one in group.episodes
    ]
    return _Group(group.name, group.kind, group.origin, episodes)
