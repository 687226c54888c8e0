"""Record how an environment goes when it is played at random, well, and by cheap tricks."""

import time
from collections.abc import Callable, Iterator, Sequence
from itertools import count
from typing import Any

import gymnasium as gym
import numpy as np
from gymnasium import spaces

from app.protocol import commands
from app.protocol.pipe import Channel
from app.worker.envs.environments import make_env
from app.worker.trajectories.controllers import Acts, Controller, find_controller, find_hovering
from app.worker.trajectories.trajectories import Group, Recorded, Recording, pack

FILE = "transitions.npz"

_EPISODES = 6
"""Of each of random, medium and good."""
_PROBED = 3
_ATTEMPTS = 12
"""So often somebody good plays; the better half is kept."""
_LONGEST = 1_000
_MOST_BYTES = 24 << 20
_EFFORT_S = 4.0
"""So long one way of acting may take; slow environments get fewer episodes."""
_MOST_CONSTANT = 20
_IDLE = ("coast", "wait", "no torque", "nothing", "done", "stick")
"""Labels of actions that are none."""
_LEAST_RANDOM, _MOST_RANDOM = 0.2, 0.8
_MOST_FACTS = 20
_LONGEST_FACT = 200

Begin = Callable[[gym.Env[Any, Any]], Acts]


def record(job: commands.Record, channel: Channel) -> None:
    """Play, and send what happened."""
    recorder = _Recorder(make_env(job.env_id, job.env_kwargs, counted=True), job.action_labels)
    channel.send_file(FILE, pack(recorder.record()))


class _Recorder:
    """Plays one environment in every way that is worth looking at."""

    def __init__(self, env: gym.Env[Any, Any], labels: Sequence[str]) -> None:
        self._env = env
        self._labels = labels
        self._stepping_s: list[float] = []
        self._rng = np.random.default_rng(0)
        env.reset(seed=0)
        probes = list(_probes(env, labels))
        groups = 3 * _EPISODES + (len(probes) + 2) * _PROBED
        size = _bytes_of(env.observation_space)
        self._longest = max(2, min(_LONGEST, _MOST_BYTES // size // groups))
        self._probes = probes

    def record(self) -> Recording:
        """Return episodes of every kind that this environment has."""
        random = self._play(lambda env: lambda _: env.action_space.sample(), _EPISODES)
        groups = [_group("random actions", "random", "any action at random", random)]
        groups += self._of_somebody_good()
        tricks = []
        for name, begin in self._probes:
            episodes = self._play(begin, _PROBED)
            tricks.append(_group(name, "probe", name, episodes))
        groups += tricks
        groups += _ending_early([random, *(trick.episodes for trick in tricks)])
        return Recording(groups, 1e6 * float(np.median(self._stepping_s)))

    def _of_somebody_good(self) -> Iterator[Group]:
        known = find_controller(self._env)
        if known is None:
            return
        share = count()

        def stumble(env: gym.Env[Any, Any]) -> Acts:
            act, width = known.begin(env), _MOST_RANDOM - _LEAST_RANDOM
            chance = _LEAST_RANDOM + width * (next(share) % _EPISODES) / (_EPISODES - 1)
            rng = self._rng
            return lambda seen: env.action_space.sample() if rng.random() < chance else act(seen)

        medium = self._play(stumble, _EPISODES)
        origin = f"{known.origin}, with some of its actions replaced by random ones"
        yield _group("medium trajectories", "medium", origin, medium)
        tried = self._play(known.begin, _ATTEMPTS)
        best = sorted(tried, key=lambda one: -float(one.rewards.sum()))[: (len(tried) + 1) // 2]
        yield _group("good trajectories", "good", known.origin, best)

    def _play(self, begin: Begin, episodes: int) -> list[Recorded]:
        until = time.monotonic() + _EFFORT_S
        played: list[Recorded] = []
        for seed in range(episodes):
            if played and time.monotonic() > until:
                break
            played.append(self._episode(begin, seed))
        return played

    def _episode(self, begin: Begin, seed: int) -> Recorded:
        env = self._env
        seen, _ = env.reset(seed=seed)
        env.action_space.seed(seed)
        act = begin(env)
        # Copies: an environment may write the next observation over the last one.
        observations: list[Any] = [_copy(seen)]
        actions: list[Any] = []
        rewards: list[float] = []
        infos: list[dict[str, Any]] = []
        terminated = truncated = False
        while not (terminated or truncated) and len(actions) < self._longest:
            action = act(seen)
            before = time.perf_counter()
            seen, reward, terminated, truncated, info = env.step(action)
            self._stepping_s.append(time.perf_counter() - before)
            observations.append(_copy(seen))
            actions.append(action)
            rewards.append(float(reward))
            infos.append(_plain(info))
        return Recorded(
            observations=_together(observations),
            actions=np.array(actions, env.action_space.dtype),
            rewards=np.array(rewards),
            terminated=bool(terminated),
            truncated=bool(truncated),
            infos=infos,
        )


def _group(name: str, kind: Any, origin: str, episodes: Sequence[Recorded]) -> Group:  # noqa: ANN401
    return Group(name=name, kind=kind, origin=origin, episodes=episodes)


def _ending_early(played: Sequence[Sequence[Recorded]]) -> Iterator[Group]:
    """Take the shortest episodes that ended by themselves, whoever acted in them."""
    ended = [one for episodes in played for one in episodes if one.terminated]
    shortest = sorted(ended, key=lambda one: one.length)[:_PROBED]
    if shortest:
        name = "ending early"
        origin = "the shortest episodes that random actions and the other tricks had"
        yield _group(name, "probe", origin, shortest)


def _probes(env: gym.Env[Any, Any], labels: Sequence[str]) -> Iterator[tuple[str, Begin]]:
    """Yield the ways to act that need no thought, with their names."""
    for name, action in _constants(env.action_space, labels):
        yield name, _always(action)
    pair = _opposites(env.action_space, labels)
    if pair is not None:
        yield "oscillating", _alternating(*pair)
    hovering: Controller | None = find_hovering(env)
    if hovering is not None:
        yield "hovering", hovering.begin


def _constants(space: spaces.Space[Any], labels: Sequence[str]) -> Iterator[tuple[str, Any]]:
    match space:
        case spaces.Discrete():
            for action in range(min(int(space.n), _MOST_CONSTANT)):
                label = labels[action] if action < len(labels) else ""
                called = f" ({label})" if label else ""
                what = "doing nothing" if label in _IDLE else f"action {action} forever"
                yield f"{what}{called}", action
        case spaces.Box():
            low, high = _bounds(space)
            yield "doing nothing (zeros)", np.clip(np.zeros_like(low), low, high)
            yield "the greatest action forever", high
            yield "the least action forever", low
        case _:
            yield "doing nothing (zeros)", np.zeros(space.shape or (), space.dtype)


def _opposites(space: spaces.Space[Any], labels: Sequence[str]) -> tuple[Any, Any] | None:
    if isinstance(space, spaces.Box):
        return _bounds(space)
    if not isinstance(space, spaces.Discrete) or int(space.n) < 2:
        return None
    words = [set(label.split()) for label in labels]
    for one, other in (("left", "right"), ("south", "north"), ("up", "down")):
        first = next((i for i, known in enumerate(words) if one in known), None)
        second = next((i for i, known in enumerate(words) if other in known), None)
        if first is not None and second is not None:
            return first, second
    return 0, int(space.n) - 1


def _bounds(space: spaces.Box) -> tuple[Any, Any]:
    low = np.where(np.isfinite(space.low), space.low, -1.0).astype(space.dtype)
    high = np.where(np.isfinite(space.high), space.high, 1.0).astype(space.dtype)
    return low, high


def _always(action: Any) -> Begin:  # noqa: ANN401 - whatever the environment takes
    return lambda _: lambda _: action


def _alternating(one: Any, other: Any) -> Begin:  # noqa: ANN401 - whatever the environment takes
    def begin(_: gym.Env[Any, Any]) -> Acts:
        step = count()
        return lambda _: other if next(step) % 2 else one

    return begin


def _copy(seen: Any) -> Any:  # noqa: ANN401 - an array, a number or a dict of them
    if isinstance(seen, dict):
        return {name: np.array(part) for name, part in seen.items()}
    return np.array(seen)


def _together(observations: Sequence[Any]) -> Any:  # noqa: ANN401 - an array or a dict of them
    if isinstance(observations[0], dict):
        return {name: np.stack([one[name] for one in observations]) for name in observations[0]}
    return np.stack(observations)


def _bytes_of(space: spaces.Space[Any]) -> int:
    if isinstance(space, spaces.Dict):
        return sum(_bytes_of(part) for part in space.values())
    return int(np.prod(space.shape or (1,))) * np.dtype(space.dtype or np.float64).itemsize


def _plain(info: dict[str, Any]) -> dict[str, Any]:
    """Keep the numbers and short texts of what an environment tells about a step."""
    kept: dict[str, Any] = {}
    for name, fact in list(info.items())[:_MOST_FACTS]:
        value = fact.item() if isinstance(fact, np.generic) else fact
        is_short = isinstance(value, str) and len(value) <= _LONGEST_FACT
        if isinstance(value, bool | int | float) or is_short:
            kept[str(name)] = value
    return kept
