"""All that a rule may look at: how a run was set up and how it went so far."""

import math
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from app.analysis.insights.history import Array, History
from app.analysis.insights.insight import Evidence
from app.catalog.algorithms.catalogue import get_algorithm
from app.catalog.environments.spec import ActionKind, EnvSpec
from app.protocol.schedule import Schedule
from app.run_config.config import RunConfig
from storage.records.runs import RunStatus

MEMORY_BASED = frozenset({"DQN", "QRDQN", "SAC", "TD3", "TQC", "CrossQ"})
"""Algorithms that learn from a replay buffer."""
ROLLOUT_BASED = frozenset({"PPO", "A2C", "RecurrentPPO", "MaskablePPO", "TRPO"})
"""Algorithms that learn from what they have just collected."""
CLIPPED = frozenset({"PPO", "RecurrentPPO", "MaskablePPO"})

_STRETCHES = 20
_FEWEST_EPISODES = 20


@dataclass(frozen=True, slots=True, kw_only=True)
class RewardCurve:
    """Mean and deviation of the reward in equal stretches of the run."""

    steps: Array
    means: Array
    start: float
    """The mean of the first episodes."""
    scatter: float
    """The deviation of the first episodes."""

    def last(self, share: float) -> Array:
        """Return the means of the last part of the run."""
        return self.means[-max(1, round(len(self.means) * share)) :]


class Situation:
    """A run as the rules see it."""

    def __init__(
        self,
        config: RunConfig,
        history: History,
        *,
        status: RunStatus,
        error: str | None = None,
        seeds: tuple[float, ...] = (),
    ) -> None:
        self.config = config
        self.history = history
        self.status = status
        self.error = error
        self.seeds = seeds
        """The last mean reward of each run of its seed group, this one included."""

    @cached_property
    def environment(self) -> EnvSpec:
        """What is known of the environment."""
        return self.config.environment

    @property
    def algorithm(self) -> str:
        """The algorithm's id."""
        return self.config.algorithm

    @property
    def share_done(self) -> float:
        """How much of the budget is used."""
        return min(1.0, self.history.timesteps / self.config.total_timesteps)

    def value(self, name: str) -> Any:  # noqa: ANN401 - a hyperparameter of any type
        """Return a hyperparameter, as last changed; a schedule counts with its largest value."""
        found: Any = self.config.hyperparameters.get(name)
        for change in self.config.changes:
            changed = getattr(change, name, None)
            found = found if changed is None else changed
        return _largest(found)

    def default(self, name: str) -> Any:  # noqa: ANN401 - a hyperparameter of any type
        """Return what a hyperparameter would be if nobody had said anything."""
        algorithm = get_algorithm(self.algorithm)
        given: Any = algorithm.complete(algorithm.defaults_for(self.environment)).get(name)
        return _largest(given)

    @cached_property
    def most_entropy(self) -> float | None:
        """The entropy of even choices, where actions are countable: log |A|."""
        spec = self.environment
        if spec.action_kind is ActionKind.DISCRETE and spec.n_actions and spec.n_actions > 1:
            return math.log(spec.n_actions)
        if spec.action_kind is ActionKind.MULTI_BINARY and spec.action_shape:
            return math.prod(spec.action_shape) * math.log(2)
        return None

    @cached_property
    def largest_return(self) -> float | None:
        """The largest size that a discounted return can have, as far as that can be told."""
        low, high = self.environment.reward_range
        gamma = self.value("gamma")
        if self.config.reward_code is not None:
            # Whoever wrote it knows what it can give.
            return None
        if gamma is None or gamma >= 1 or self.config.wrappers.normalize_reward:
            return None
        if low is None or high is None:
            # Unknown bounds: ten times the largest return of an episode is generous.
            seen = [abs(one.reward) for one in (*self.history.first, *self.history.recent)]
            return 10 * max(seen) if len(seen) >= _FEWEST_EPISODES else None
        # A time limit is no bound: values go on behind it.
        return float(max(abs(low), abs(high)) / (1 - gamma))

    @property
    def time_limit(self) -> int | None:
        """After how many steps episodes are cut."""
        own = self.config.wrappers.time_limit
        return own or self.environment.max_episode_steps

    @cached_property
    def curve(self) -> RewardCurve | None:
        """How the reward went, or None before there are enough episodes."""
        steps, rewards = self.history.track("reward")
        first = [episode.reward for episode in self.history.first]
        if len(first) < _FEWEST_EPISODES or len(rewards) < _FEWEST_EPISODES:
            return None
        begin = np.asarray(first[: max(_FEWEST_EPISODES, min(len(first), self._early))])
        edges = np.linspace(steps[0], steps[-1] + 1, min(_STRETCHES, len(steps) // 4) + 1)
        places = np.digitize(steps, edges)
        kept = [place for place in range(1, len(edges)) if np.any(places == place)]
        return RewardCurve(
            steps=np.asarray([edges[place] for place in kept]),
            means=np.asarray([rewards[places == place].mean() for place in kept]),
            start=float(begin.mean()),
            scatter=float(begin.std()),
        )

    @property
    def _early(self) -> int:
        """How many of the first episodes were played before anything could be learned."""
        return self.history.episodes // 20

    @cached_property
    def needed_gain(self) -> float | None:
        """How much the reward has to rise before one can call it learning."""
        if self.curve is None:
            return None
        threshold = self.environment.solved_threshold
        if threshold is None and not self._is_steadier:
            # Without a goal one can't tell a small gain from a lucky one.
            return max(self.curve.scatter, 1e-9)
        if threshold is None:
            return max(0.1 * self.curve.scatter, 1e-9)
        return max(0.5 * self.curve.scatter, 0.05 * abs(threshold - self.curve.start), 1e-9)

    @property
    def _is_steadier(self) -> bool:
        """Whether episodes differ much less than at the beginning."""
        newest = [episode.reward for episode in self.history.recent][-100:]
        return self.curve is not None and float(np.std(newest)) < 0.5 * self.curve.scatter

    @cached_property
    def has_learned(self) -> bool:
        """Whether the reward is clearly above where it began."""
        if self.curve is None or self.needed_gain is None:
            return False
        return float(self.curve.last(0.2).mean()) - self.curve.start >= self.needed_gain

    @cached_property
    def is_near_goal(self) -> bool:
        """Whether at least nine tenths of the way to the solved threshold are done."""
        threshold = self.environment.solved_threshold
        if threshold is None or self.curve is None:
            return False
        reached = max(float(self.curve.last(0.1).mean()), self._recent_mean)
        return reached >= threshold - 0.1 * abs(threshold - self.curve.start)

    @property
    def _recent_mean(self) -> float:
        newest = [episode.reward for episode in self.history.recent][-100:]
        return float(np.mean(newest)) if newest else -math.inf

    @property
    def does_badly(self) -> bool:
        """Whether there is a reason to look for causes: neither has it learned nor is it there."""
        return self.curve is not None and not self.has_learned and not self.is_near_goal

    def evidence(self, metric: str, *, since: float = 0.0, **numbers: float) -> Evidence:
        """Return evidence from the steps since some part of the run."""
        last = self.history.timesteps
        rounded = {name: _short(value) for name, value in numbers.items()}
        return Evidence(metric=metric, window=(int(since * last), last), numbers=rounded)

    def part(self, name: str, since: float, until: float = 1.0) -> Array:
        """Return a metric's values between two shares of the steps since the last change."""
        steps, values = self.history.track(name)
        begin, last = self._changed_at, self.history.timesteps
        return values[
            (steps >= begin + since * (last - begin)) & (steps <= begin + until * (last - begin))
        ]

    @cached_property
    def _changed_at(self) -> int:
        """The step since which it trains with these values."""
        return max((change.timesteps for change in self.config.changes), default=0)


def _largest(value: Any) -> Any:  # noqa: ANN401 - a hyperparameter of any type
    return max(y for _, y in value.points) if isinstance(value, Schedule) else value


def _short(value: float) -> float:
    """Round to four digits that mean something."""
    number = float(value)
    return float(f"{number:.4g}") if math.isfinite(number) else 0.0
