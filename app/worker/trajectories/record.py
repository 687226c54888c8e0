"""Record episodes of an environment with random, good and degenerate policies."""

import time
from collections.abc import Callable, Iterator, Sequence
from itertools import count
from typing import Any

import gymnasium as gym
import numpy as np
from gymnasium import spaces

from app.protocol import Channel, commands
from app.worker.envs.environments import make_env
from app.worker.trajectories.controllers import (
    Controller,
    Policy,
    find_controller,
    find_hover_controller,
)
from app.worker.trajectories.trajectories import Group, RecordedEpisode, Recording, pack

FILE = "transitions.npz"

_EPISODES = 6
"""Number of episodes of each of random, medium and good."""
_PROBE_EPISODES = 3
_CONTROLLER_EPISODES = 12
"""Number of episodes that a controller plays; the better half is kept."""
_MAX_LENGTH = 1_000
_MAX_BYTES = 24 << 20
_TIME_LIMIT_S = 4.0
"""Time limit per policy; slow environments get fewer episodes."""
_MAX_CONSTANT_ACTIONS = 20
_IDLE = ("coast", "wait", "no torque", "nothing", "done", "stick")
"""Labels of actions that do nothing."""
_MIN_RANDOM, _MAX_RANDOM = 0.2, 0.8
_MAX_INFO_VALUES = 20
_MAX_INFO_TEXT = 200

PolicyFactory = Callable[[gym.Env[Any, Any]], Policy]


def record(job: commands.Record, channel: Channel) -> None:
    """Record episodes and send them as a file."""
    recorder = _Recorder(make_env(job.env_id, job.env_kwargs, unmonitored=True), job.action_labels)
    channel.send_file(FILE, pack(recorder.record()))


class _Recorder:
    """Plays one environment with each policy."""

    def __init__(self, env: gym.Env[Any, Any], labels: Sequence[str]) -> None:
        self._env = env
        self._labels = labels
        self._stepping_s: list[float] = []
        self._rng = np.random.default_rng(0)
        env.reset(seed=0)
        probes = list(_probes(env, labels))
        groups = 3 * _EPISODES + (len(probes) + 2) * _PROBE_EPISODES
        size = _bytes_of(env.observation_space)
        self._max_length = max(2, min(_MAX_LENGTH, _MAX_BYTES // size // groups))
        self._probes = probes

    def record(self) -> Recording:
        """Return the episodes of all policies for this environment."""
        random = self._play(lambda env: lambda _: env.action_space.sample(), _EPISODES)
        groups = [_group("random actions", "random", "uniformly random actions", random)]
        groups += self._controller_groups()
        probe_groups = []
        for name, make_policy in self._probes:
            episodes = self._play(make_policy, _PROBE_EPISODES)
            probe_groups.append(_group(name, "probe", name, episodes))
        groups += probe_groups
        groups += _ending_early([random, *(group.episodes for group in probe_groups)])
        return Recording(groups, 1e6 * float(np.median(self._stepping_s)))

    def _controller_groups(self) -> Iterator[Group]:
        controller = find_controller(self._env)
        if controller is None:
            return
        episode_count = count()

        def make_noisy_policy(env: gym.Env[Any, Any]) -> Policy:
            act, width = controller.make_policy(env), _MAX_RANDOM - _MIN_RANDOM
            probability = _MIN_RANDOM + width * (next(episode_count) % _EPISODES) / (_EPISODES - 1)
            rng = self._rng
            return lambda obs: env.action_space.sample() if rng.random() < probability else act(obs)

        medium = self._play(make_noisy_policy, _EPISODES)
        origin = f"{controller.origin}, with some of its actions replaced by random ones"
        yield _group("medium trajectories", "medium", origin, medium)
        played = self._play(controller.make_policy, _CONTROLLER_EPISODES)
        best = sorted(played, key=lambda one: -float(one.rewards.sum()))[: (len(played) + 1) // 2]
        yield _group("good trajectories", "good", controller.origin, best)

    def _play(self, make_policy: PolicyFactory, episodes: int) -> list[RecordedEpisode]:
        deadline = time.monotonic() + _TIME_LIMIT_S
        played: list[RecordedEpisode] = []
        for seed in range(episodes):
            if played and time.monotonic() > deadline:
                break
            played.append(self._episode(make_policy, seed))
        return played

    def _episode(self, make_policy: PolicyFactory, seed: int) -> RecordedEpisode:
        env = self._env
        obs, _ = env.reset(seed=seed)
        env.action_space.seed(seed)
        act = make_policy(env)
        # Copies: an environment may overwrite its observation.
        observations: list[Any] = [_copy(obs)]
        actions: list[Any] = []
        rewards: list[float] = []
        infos: list[dict[str, Any]] = []
        terminated = truncated = False
        while not (terminated or truncated) and len(actions) < self._max_length:
            action = act(obs)
            before = time.perf_counter()
            obs, reward, terminated, truncated, info = env.step(action)
            self._stepping_s.append(time.perf_counter() - before)
            observations.append(_copy(obs))
            actions.append(action)
            rewards.append(float(reward))
            infos.append(_simple_values(info))
        return RecordedEpisode(
            observations=_stack(observations),
            actions=np.array(actions, env.action_space.dtype),
            rewards=np.array(rewards),
            terminated=bool(terminated),
            truncated=bool(truncated),
            infos=infos,
        )


def _group(name: str, kind: Any, origin: str, episodes: Sequence[RecordedEpisode]) -> Group:  # noqa: ANN401
    return Group(name=name, kind=kind, origin=origin, episodes=episodes)


def _ending_early(played: Sequence[Sequence[RecordedEpisode]]) -> Iterator[Group]:
    """Select the shortest terminated episodes of all policies."""
    ended = [one for episodes in played for one in episodes if one.terminated]
    shortest = sorted(ended, key=lambda one: one.length)[:_PROBE_EPISODES]
    if shortest:
        name = "ending early"
        origin = "the shortest episodes of random actions and of the other probes"
        yield _group(name, "probe", origin, shortest)


def _probes(env: gym.Env[Any, Any], labels: Sequence[str]) -> Iterator[tuple[str, PolicyFactory]]:
    """Yield the degenerate policies with their names."""
    for name, action in _constants(env.action_space, labels):
        yield name, _constant_policy(action)
    pair = _opposite_actions(env.action_space, labels)
    if pair is not None:
        yield "oscillating", _alternating_policy(*pair)
    hovering: Controller | None = find_hover_controller(env)
    if hovering is not None:
        yield "hovering", hovering.make_policy


def _constants(space: spaces.Space[Any], labels: Sequence[str]) -> Iterator[tuple[str, Any]]:
    match space:
        case spaces.Discrete():
            for action in range(min(int(space.n), _MAX_CONSTANT_ACTIONS)):
                label = labels[action] if action < len(labels) else ""
                called = f" ({label})" if label else ""
                what = "doing nothing" if label in _IDLE else f"action {action} forever"
                yield f"{what}{called}", action
        case spaces.Box():
            low, high = _bounds(space)
            yield "doing nothing (zeros)", np.clip(np.zeros_like(low), low, high)
            yield "the maximum action forever", high
            yield "the minimum action forever", low
        case _:
            yield "doing nothing (zeros)", np.zeros(space.shape or (), space.dtype)


def _opposite_actions(space: spaces.Space[Any], labels: Sequence[str]) -> tuple[Any, Any] | None:
    if isinstance(space, spaces.Box):
        return _bounds(space)
    if not isinstance(space, spaces.Discrete) or int(space.n) < 2:
        return None
    words = [set(label.split()) for label in labels]
    for one, other in (("left", "right"), ("south", "north"), ("up", "down")):
        first = next((i for i, label in enumerate(words) if one in label), None)
        second = next((i for i, label in enumerate(words) if other in label), None)
        if first is not None and second is not None:
            return first, second
    return 0, int(space.n) - 1


def _bounds(space: spaces.Box) -> tuple[Any, Any]:
    low = np.where(np.isfinite(space.low), space.low, -1.0).astype(space.dtype)
    high = np.where(np.isfinite(space.high), space.high, 1.0).astype(space.dtype)
    return low, high


def _constant_policy(action: Any) -> PolicyFactory:  # noqa: ANN401 - any action
    return lambda _: lambda _: action


def _alternating_policy(one: Any, other: Any) -> PolicyFactory:  # noqa: ANN401 - any action
    def make_policy(_: gym.Env[Any, Any]) -> Policy:
        step = count()
        return lambda _: other if next(step) % 2 else one

    return make_policy


def _copy(obs: Any) -> Any:  # noqa: ANN401 - an array, a number or a dict of them
    if isinstance(obs, dict):
        return {name: np.array(part) for name, part in obs.items()}
    return np.array(obs)


def _stack(observations: Sequence[Any]) -> Any:  # noqa: ANN401 - an array or a dict of them
    if isinstance(observations[0], dict):
        return {name: np.stack([one[name] for one in observations]) for name in observations[0]}
    return np.stack(observations)


def _bytes_of(space: spaces.Space[Any]) -> int:
    if isinstance(space, spaces.Dict):
        return sum(_bytes_of(part) for part in space.values())
    return int(np.prod(space.shape or (1,))) * np.dtype(space.dtype or np.float64).itemsize


def _simple_values(info: dict[str, Any]) -> dict[str, Any]:
    """Return the numbers and short texts of an info."""
    kept: dict[str, Any] = {}
    for name, fact in list(info.items())[:_MAX_INFO_VALUES]:
        value = fact.item() if isinstance(fact, np.generic) else fact
        is_short = isinstance(value, str) and len(value) <= _MAX_INFO_TEXT
        if isinstance(value, bool | int | float) or is_short:
            kept[str(name)] = value
    return kept
