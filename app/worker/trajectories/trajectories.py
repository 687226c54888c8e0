"""Recorded episodes: how they look, and how they travel and rest without any pickle."""

import io
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import msgspec
import numpy as np

Kind = Literal["random", "medium", "good", "probe"]
Seen = np.ndarray[Any, Any] | dict[str, np.ndarray[Any, Any]]

_WHOLE = ""
"""The name of the only part of an observation that has no parts."""
_LARGE = 4 << 20
"""From so many bytes on it is worth the time to make them fewer."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Recorded:
    """An episode, or its beginning; there is one observation more than there are actions."""

    observations: Seen
    actions: np.ndarray[Any, Any]
    rewards: np.ndarray[Any, Any]
    terminated: bool
    truncated: bool
    infos: Sequence[dict[str, Any]]

    @property
    def length(self) -> int:
        """How many steps it has."""
        return len(self.rewards)

    def seen(self, step: int) -> Any:  # noqa: ANN401 - an array, a number or a dict of them
        """Return what was observed before a step."""
        if isinstance(self.observations, dict):
            return {name: part[step] for name, part in self.observations.items()}
        return self.observations[step]


@dataclass(frozen=True, slots=True, kw_only=True)
class Group:
    """Episodes of one way to act."""

    name: str
    kind: Kind
    origin: str
    """Who acted, in words for people."""
    episodes: Sequence[Recorded]


@dataclass(frozen=True, slots=True)
class Recording:
    """Everything that was recorded of an environment."""

    groups: Sequence[Group]
    step_microseconds: float
    """How long the environment itself takes for a step."""


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
    is_large = sum(array.nbytes for array in arrays.values()) > _LARGE
    (np.savez_compressed if is_large else np.savez)(file, **arrays)
    return file.getvalue()


def unpack(content: bytes) -> Recording:
    """Read what `pack` returned."""
    with np.load(io.BytesIO(content), allow_pickle=False) as file:
        arrays = dict(file)
    facts = msgspec.json.decode(arrays.pop("facts").tobytes(), type=_Facts)
    seen = {name.removeprefix("seen:"): a for name, a in arrays.items() if name[:5] == "seen:"}
    step, index = 0, 0
    groups = []
    for group in facts.groups:
        episodes = []
        for one in group.episodes:
            steps = slice(step, step + one.length)
            before = slice(step + index, step + index + one.length + 1)
            parts = {name: array[before] for name, array in seen.items()}
            episodes.append(
                Recorded(
                    observations=parts.get(_WHOLE, parts),
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


def _parts(seen: Seen) -> Mapping[str, np.ndarray[Any, Any]]:
    return seen if isinstance(seen, dict) else {_WHOLE: seen}


def _facts(group: Group) -> _Group:
    episodes = [
        _Episode(one.length, one.terminated, one.truncated, list(one.infos))
        for one in group.episodes
    ]
    return _Group(group.name, group.kind, group.origin, episodes)
