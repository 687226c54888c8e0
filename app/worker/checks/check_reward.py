"""Ask a reward that somebody wrote what it pays for episodes that were recorded before."""

import time
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import zip_longest
from typing import Any

import numpy as np

from app.protocol import commands, messages
from app.protocol.pipe import Channel
from app.protocol.user_code import REWARD_FILE, UserCodeError
from app.worker.envs.reward_functions import LARGEST, RewardFunction, number, refuse
from app.worker.trajectories.trajectories import Group, Recorded, Recording, unpack
from app.worker.user_code.loader import explain

BINS = 12
"""How many bars a small histogram has."""
DISCOUNT = 0.99
"""What most algorithms here count the next step for."""
_FAR_S = 4.0
"""A value farther from the mean than so many standard deviations is an outlier."""
_ENOUGH_S = 1.2
"""After so long no further episode is begun, once each way of acting had one."""
_TOO_LONG_S = 3.0
"""After so long the rest is left out."""
_HOPELESS_S = 9.0
"""After so long nothing can be said but that it is slow."""
_FIRST = {"good": 0, "random": 1}
_ONLY = "reward"
"""The name of the only term of a reward that names none."""


def check_reward(job: commands.CheckReward, channel: Channel, content: bytes) -> None:
    """Say what the reward pays, term by term and episode by episode.

    Raises:
        UserCodeError: if it can't be loaded, or fails in some step.
    """
    recording = unpack(content)
    trial = _Trial(RewardFunction(job.code, job.components))
    channel.send(trial.run(recording))


@dataclass(slots=True)
class _Paid:
    """What one way of acting was paid."""

    group: Group
    returns: list[float] = field(default_factory=list)
    discounted: list[float] = field(default_factory=list)
    own_returns: list[float] = field(default_factory=list)
    lengths: list[int] = field(default_factory=list)


class _Trial:
    """Shows recorded steps to a reward as a training would; see `CustomReward`."""

    def __init__(self, written: RewardFunction) -> None:
        self._written = written
        self._call, self._forget = written.for_one_environment()
        self._terms: dict[str, list[float]] = defaultdict(list)
        self._counted = 0
        """Of how many steps the terms are kept; tricks aren't among them."""
        self._began = 0.0
        self._spent_s = 0.0
        self._microseconds: list[float] = []
        """How long a call took on average, in each episode."""

    def run(self, recording: Recording) -> messages.RewardChecked:
        """Ask for as many episodes as there is time for."""
        self._began = began = time.monotonic()
        paid = {id(group): _Paid(group) for group in recording.groups}
        skipped = 0
        for turn, group, episode in _in_turn(recording.groups):
            spent = time.monotonic() - began
            if spent > (_ENOUGH_S if turn else _TOO_LONG_S):
                skipped += 1
                continue
            self._ask_about(paid[id(group)], episode)
        return messages.RewardChecked(
            terms=tuple(self._described_terms()),
            groups=tuple(_scored(one) for one in paid.values()),
            microseconds=float(np.median(self._microseconds)),
            step_microseconds=recording.step_microseconds,
            steps=self._counted,
            skipped=skipped,
        )

    def _ask_about(self, paid: _Paid, episode: Recorded) -> None:
        is_trick = paid.group.kind == "probe"
        try:
            self._forget()
        except BaseException as error:
            raise explain(error, REWARD_FILE) from error
        total, discounted, self._spent_s = 0.0, 0.0, 0.0
        for step, asked in enumerate(self._steps(episode), start=1):
            reward = self._ask(asked, keeps=not is_trick)
            total += reward
            discounted += reward * DISCOUNT ** (step - 1)
            if time.monotonic() - self._began > _HOPELESS_S:
                raise UserCodeError(f"It is too slow: {step:,} calls took {self._spent_s:,.1f} s.")
        self._microseconds.append(1e6 * self._spent_s / max(episode.length, 1))
        paid.returns.append(total)
        paid.discounted.append(discounted)
        paid.own_returns.append(float(episode.rewards.sum()))
        paid.lengths.append(episode.length)

    def _steps(self, episode: Recorded) -> Iterator[tuple[Any, ...]]:
        last = episode.length - 1
        after = self._shown(episode.seen(0))
        for step in range(episode.length):
            before, after = after, self._shown(episode.seen(step + 1))
            action = episode.actions[step]
            own = float(episode.rewards[step])
            is_last = step == last
            ends = is_last and episode.terminated, is_last and episode.truncated
            yield before, action, after, own, *ends, dict(episode.infos[step])

    def _ask(self, asked: tuple[Any, ...], *, keeps: bool) -> float:
        try:
            began = time.perf_counter()
            returned = self._call(*asked)
            self._spent_s += time.perf_counter() - began
            of_each = self._settle(returned)
            total = sum(of_each.values())
            if not -LARGEST <= total <= LARGEST:
                refuse(total, returned)
        except BaseException as error:
            raise self._written.explained(error, self._call, asked) from error
        if keeps:
            self._keep(of_each)
        return total

    def _settle(self, returned: object) -> dict[str, float]:
        if not isinstance(returned, dict):
            return {_ONLY: number(returned)}
        for name in returned:
            if name not in self._terms:
                self._written.meet(name)
        return {name: number(part, name) for name, part in returned.items()}

    def _keep(self, terms: dict[str, float]) -> None:
        for name, value in terms.items():
            values = self._terms[name]
            # Steps in which a term was missing count as zero.
            values.extend([0.0] * (self._counted - len(values)))
            values.append(value)
        self._counted += 1

    def _shown(self, observation: Any) -> Any:  # noqa: ANN401 - an array, a number or a dict
        if not isinstance(observation, np.ndarray):
            return observation
        has_names = observation.shape == (len(self._written.components),)
        shown = observation.view(self._written.array_type if has_names else np.ndarray)
        shown.setflags(write=False)
        return shown

    def _described_terms(self) -> Iterator[messages.Term]:
        columns = {}
        for name, values in self._terms.items():
            values.extend([0.0] * (self._counted - len(values)))
            columns[name] = np.array(values)
        weight = sum(float(np.abs(column).sum()) for column in columns.values())
        for name, column in columns.items():
            width = column.max() - column.min()
            places = (column - column.min()) / (width or 1.0) * BINS
            counts = np.bincount(np.minimum(places.astype(int), BINS - 1), minlength=BINS)
            far = np.abs(column - column.mean()) > _FAR_S * column.std()
            yield messages.Term(
                name=name,
                mean=float(column.mean()),
                std=float(column.std()),
                min=float(column.min()),
                max=float(column.max()),
                share=float(np.abs(column).sum()) / weight if weight else 0.0,
                outliers=int(far.sum()) if column.std() > 0 else 0,
                histogram=tuple(int(count) for count in counts),
            )


def _in_turn(groups: Sequence[Group]) -> Iterator[tuple[int, Group, Recorded]]:
    """Yield the first episode of each way of acting, then the second of each, and so on.

    Those without which nothing can be said come first, then short ones before long ones.
    """
    groups = sorted(groups, key=lambda g: (_FIRST.get(g.kind, 2), g.episodes[0].length))
    for turn, episodes in enumerate(zip_longest(*(group.episodes for group in groups))):
        for group, episode in zip(groups, episodes, strict=True):
            if episode is not None:
                yield turn, group, episode


def _scored(paid: _Paid) -> messages.Scored:
    return messages.Scored(
        name=paid.group.name,
        kind=paid.group.kind,
        origin=paid.group.origin,
        returns=tuple(paid.returns),
        discounted=tuple(paid.discounted),
        own_returns=tuple(paid.own_returns),
        lengths=tuple(paid.lengths),
    )
