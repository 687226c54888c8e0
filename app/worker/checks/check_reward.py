"""Compute a custom reward for recorded episodes."""

import time
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import zip_longest
from typing import Any

import numpy as np

from app.protocol import REWARD_FILE, Channel, UserCodeError, commands, messages
from app.worker.envs.reward_functions import MAX_REWARD, RewardFunction, number, reject_reward
from app.worker.trajectories.trajectories import Group, RecordedEpisode, Recording, unpack
from app.worker.user_code.loader import explain

BINS = 12
"""Number of bins of a term's histogram."""
DISCOUNT = 0.99
"""The default discount factor of most algorithms here."""
_OUTLIER_STDS = 4.0
"""A value more than this many standard deviations from the mean is an outlier."""
_SOFT_LIMIT_S = 1.2
"""Start no further episode after this time, once each group had one."""
_FIRST_ROUND_LIMIT_S = 3.0
"""Skip all remaining episodes after this time."""
_HARD_LIMIT_S = 9.0
"""Give up after this time: the code is too slow."""
_ORDER = {"good": 0, "random": 1}
_UNNAMED_TERM = "reward"
"""The name of the only term of a reward that doesn't name its terms."""


def check_reward(job: commands.CheckReward, channel: Channel, content: bytes) -> None:
    """Report the rewards of recorded episodes, per term and per episode.

    Raises:
        UserCodeError: if the code can't be loaded, or fails in some step.
    """
    recording = unpack(content)
    replay = _RewardReplay(RewardFunction(job.code, job.components))
    channel.send(replay.run(recording))


@dataclass(slots=True)
class _GroupReturns:
    """The returns of the episodes of one group."""

    group: Group
    returns: list[float] = field(default_factory=list)
    discounted: list[float] = field(default_factory=list)
    own_returns: list[float] = field(default_factory=list)
    lengths: list[int] = field(default_factory=list)


class _RewardReplay:
    """Calls a reward with recorded steps, as training would; see `CustomReward`."""

    def __init__(self, reward_function: RewardFunction) -> None:
        self._reward_function = reward_function
        self._call, self._reset_reward = reward_function.for_one_environment()
        self._terms: dict[str, list[float]] = defaultdict(list)
        self._step_count = 0
        """Number of steps whose terms are kept; those of probes aren't."""
        self._began = 0.0
        self._spent_s = 0.0
        self._microseconds: list[float] = []
        """Mean duration of a call in each episode."""

    def run(self, recording: Recording) -> messages.RewardChecked:
        """Compute the reward for as many episodes as the time limits allow."""
        self._began = began = time.monotonic()
        results = {id(group): _GroupReturns(group) for group in recording.groups}
        skipped = 0
        for round_number, group, episode in _in_rounds(recording.groups):
            spent = time.monotonic() - began
            if spent > (_SOFT_LIMIT_S if round_number else _FIRST_ROUND_LIMIT_S):
                skipped += 1
                continue
            self._add_rewards(results[id(group)], episode)
        return messages.RewardChecked(
            terms=tuple(self._term_statistics()),
            groups=tuple(_scored(result) for result in results.values()),
            microseconds=float(np.median(self._microseconds)),
            step_microseconds=recording.step_microseconds,
            steps=self._step_count,
            skipped=skipped,
        )

    def _add_rewards(self, result: _GroupReturns, episode: RecordedEpisode) -> None:
        is_probe = result.group.kind == "probe"
        try:
            self._reset_reward()
        except BaseException as error:
            raise explain(error, REWARD_FILE) from error
        total, discounted, self._spent_s = 0.0, 0.0, 0.0
        for step, arguments in enumerate(self._steps(episode), start=1):
            reward = self._call_reward(arguments, keeps_terms=not is_probe)
            total += reward
            discounted += reward * DISCOUNT ** (step - 1)
            if time.monotonic() - self._began > _HARD_LIMIT_S:
                raise UserCodeError(f"It is too slow: {step:,} calls took {self._spent_s:,.1f} s.")
        self._microseconds.append(1e6 * self._spent_s / max(episode.length, 1))
        result.returns.append(total)
        result.discounted.append(discounted)
        result.own_returns.append(float(episode.rewards.sum()))
        result.lengths.append(episode.length)

    def _steps(self, episode: RecordedEpisode) -> Iterator[tuple[Any, ...]]:
        last = episode.length - 1
        after = self._named_view(episode.observation_at(0))
        for step in range(episode.length):
            before, after = after, self._named_view(episode.observation_at(step + 1))
            action = episode.actions[step]
            own = float(episode.rewards[step])
            is_last = step == last
            ends = is_last and episode.terminated, is_last and episode.truncated
            yield before, action, after, own, *ends, dict(episode.infos[step])

    def _call_reward(self, arguments: tuple[Any, ...], *, keeps_terms: bool) -> float:
        try:
            began = time.perf_counter()
            returned = self._call(*arguments)
            self._spent_s += time.perf_counter() - began
            terms = self._as_terms(returned)
            total = sum(terms.values())
            if not -MAX_REWARD <= total <= MAX_REWARD:
                reject_reward(total, returned)
        except BaseException as error:
            raise self._reward_function.explained(error, self._call, arguments) from error
        if keeps_terms:
            self._keep(terms)
        return total

    def _as_terms(self, returned: object) -> dict[str, float]:
        if not isinstance(returned, dict):
            return {_UNNAMED_TERM: number(returned)}
        for name in returned:
            if name not in self._terms:
                self._reward_function.add_term(name)
        return {name: number(part, name) for name, part in returned.items()}

    def _keep(self, terms: dict[str, float]) -> None:
        for name, value in terms.items():
            values = self._terms[name]
            # Steps in which a term was missing count as zero.
            values.extend([0.0] * (self._step_count - len(values)))
            values.append(value)
        self._step_count += 1

    def _named_view(self, observation: Any) -> Any:  # noqa: ANN401 - an array, a number or a dict
        if not isinstance(observation, np.ndarray):
            return observation
        has_names = observation.shape == (len(self._reward_function.components),)
        view = observation.view(self._reward_function.array_type if has_names else np.ndarray)
        view.setflags(write=False)
        return view

    def _term_statistics(self) -> Iterator[messages.Term]:
        columns = {}
        for name, values in self._terms.items():
            values.extend([0.0] * (self._step_count - len(values)))
            columns[name] = np.array(values)
        weight = sum(float(np.abs(column).sum()) for column in columns.values())
        for name, column in columns.items():
            width = column.max() - column.min()
            positions = (column - column.min()) / (width or 1.0) * BINS
            counts = np.bincount(np.minimum(positions.astype(int), BINS - 1), minlength=BINS)
            is_outlier = np.abs(column - column.mean()) > _OUTLIER_STDS * column.std()
            yield messages.Term(
                name=name,
                mean=float(column.mean()),
                std=float(column.std()),
                min=float(column.min()),
                max=float(column.max()),
                share=float(np.abs(column).sum()) / weight if weight else 0.0,
                outliers=int(is_outlier.sum()) if column.std() > 0 else 0,
                histogram=tuple(int(count) for count in counts),
            )


def _in_rounds(groups: Sequence[Group]) -> Iterator[tuple[int, Group, RecordedEpisode]]:
    """Yield the first episode of each group, then the second of each, and so on.

    Good and random agents come first, then groups with short episodes before those with long ones.
    """
    groups = sorted(groups, key=lambda g: (_ORDER.get(g.kind, 2), g.episodes[0].length))
    for round_number, episodes in enumerate(zip_longest(*(group.episodes for group in groups))):
        for group, episode in zip(groups, episodes, strict=True):
            if episode is not None:
                yield round_number, group, episode


def _scored(result: _GroupReturns) -> messages.Scored:
    return messages.Scored(
        name=result.group.name,
        kind=result.group.kind,
        origin=result.group.origin,
        returns=tuple(result.returns),
        discounted=tuple(result.discounted),
        own_returns=tuple(result.own_returns),
        lengths=tuple(result.lengths),
    )
