"""The situation of a run, from which rules draw insights: configuration and metrics."""

import math
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from app.analysis.insights.history import Array, History
from app.analysis.insights.insight import Evidence
from app.catalog.algorithms import AlgorithmSpec, get_algorithm
from app.catalog.environments import ActionKind, EnvSpec, environment_of_run
from app.protocol import Schedule
from app.run_config import RunConfig
from storage.records import RunStatus

_BUCKETS = 20
_MIN_EPISODES = 20
_LEAST_CHOICE = 0.05
"""Entropy of legal actions below which hardly ever more than one is legal."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RewardCurve:
    """The mean reward in equal parts of the run."""

    steps: Array
    means: Array
    start: float
    """The mean of the first episodes."""
    scatter: float
    """The standard deviation of the first episodes."""

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
        """The description of the environment."""
        return self.config.environment

    @cached_property
    def algorithm(self) -> AlgorithmSpec:
        """The description of the algorithm."""
        return get_algorithm(self.config.algorithm)

    @property
    def clips_updates(self) -> bool:
        """Whether each update is clipped, as PPO does."""
        return "clip_range" in self.config.hyperparameters

    @property
    def share_done(self) -> float:
        """The used share of the budget."""
        return min(1.0, self.history.timesteps / self.config.total_timesteps)

    def value(self, name: str) -> Any:  # noqa: ANN401 - a hyperparameter of any type
        """Return a hyperparameter, as last changed; a schedule counts with its largest value."""
        found: Any = self.config.hyperparameters.get(name)
        for change in self.config.changes:
            changed = getattr(change, name, None)
            found = found if changed is None else changed
        return _largest(found)

    def default(self, name: str) -> Any:  # noqa: ANN401 - a hyperparameter of any type
        """Return the default of a hyperparameter in this environment."""
        defaults = self.algorithm.defaults_for(self.environment)
        given: Any = self.algorithm.complete(defaults).get(name)
        return _largest(given)

    @cached_property
    def max_entropy(self) -> float | None:
        """The entropy of a uniform policy, for discrete actions: log |A|.

        With action masks, that of a uniform choice among the legal actions; None: not measured.
        """
        spec = self.environment
        if self.algorithm.masks_actions:
            return self._max_entropy_of_legal_actions
        if spec.action_kind is ActionKind.DISCRETE and spec.n_actions and spec.n_actions > 1:
            return math.log(spec.n_actions)
        if spec.action_kind is ActionKind.MULTI_BINARY and spec.action_shape:
            return math.prod(spec.action_shape) * math.log(2)
        return None

    @property
    def _max_entropy_of_legal_actions(self) -> float | None:
        measured = self.part("max_entropy", 0.0)
        typical = float(np.median(measured)) if len(measured) else 0.0
        return typical if typical > _LEAST_CHOICE else None

    @cached_property
    def largest_return(self) -> float | None:
        """The largest possible magnitude of a discounted return; None: unknown."""
        low, high = self.environment.reward_range
        gamma = self.value("gamma")
        if self.config.reward_code is not None:
            # The range of a custom reward is unknown.
            return None
        if gamma is None or gamma >= 1 or self.config.wrappers.normalize_reward:
            return None
        if low is None or high is None:
            # Unknown bounds: ten times the largest return of an episode is generous.
            returns = [abs(one.reward) for one in (*self.history.first, *self.history.recent)]
            return 10 * max(returns) if len(returns) >= _MIN_EPISODES else None
        # A time limit is no bound: values are bootstrapped beyond it. With frame skip the agent's
        # reward is the sum over the skipped steps.
        most = max(abs(low), abs(high)) * self.config.wrappers.frame_skip
        return float(most / (1 - gamma))

    @property
    def time_limit(self) -> int | None:
        """The number of the agent's steps after which episodes are truncated."""
        return self.config.step_limit

    @cached_property
    def curve(self) -> RewardCurve | None:
        """The reward curve; None before there are enough episodes."""
        steps, rewards = self.history.track("reward")
        first = [episode.reward for episode in self.history.first]
        if len(first) < _MIN_EPISODES or len(rewards) < _MIN_EPISODES:
            return None
        begin = np.asarray(first[: max(_MIN_EPISODES, min(len(first), self._early))])
        edges = np.linspace(steps[0], steps[-1] + 1, min(_BUCKETS, len(steps) // 4) + 1)
        buckets = np.digitize(steps, edges)
        filled = [bucket for bucket in range(1, len(edges)) if np.any(buckets == bucket)]
        return RewardCurve(
            steps=np.asarray([edges[bucket] for bucket in filled]),
            means=np.asarray([rewards[buckets == bucket].mean() for bucket in filled]),
            start=float(begin.mean()),
            scatter=float(begin.std()),
        )

    @property
    def _early(self) -> int:
        """How many of the first episodes count as played before any learning."""
        return self.history.episodes // 20

    @cached_property
    def needed_gain(self) -> float | None:
        """The rise of the reward that counts as learning."""
        if self.curve is None:
            return None
        threshold = self.environment.solved_threshold
        if threshold is None and not self._is_steadier:
            # Without a threshold a small gain can't be distinguished from noise.
            return max(self.curve.scatter, 1e-9)
        if threshold is None:
            return max(0.1 * self.curve.scatter, 1e-9)
        return max(0.5 * self.curve.scatter, 0.05 * abs(threshold - self.curve.start), 1e-9)

    @property
    def _is_steadier(self) -> bool:
        """Whether the reward varies much less than at the beginning."""
        newest = [episode.reward for episode in self.history.recent][-100:]
        return self.curve is not None and float(np.std(newest)) < 0.5 * self.curve.scatter

    @cached_property
    def has_learned(self) -> bool:
        """Whether the reward has clearly risen."""
        if self.curve is None or self.needed_gain is None:
            return False
        return float(self.curve.last(0.2).mean()) - self.curve.start >= self.needed_gain

    @cached_property
    def is_near_goal(self) -> bool:
        """Whether the reward has risen by at least 90 % of the distance to the solved threshold."""
        threshold = self.environment.solved_threshold
        return threshold is not None and self._is_near(threshold)

    @cached_property
    def is_near_goal_without_wrappers(self) -> bool:
        """The same for the threshold that the environment has without a time limit or frame skip.

        A wrapper makes it another task, whose threshold isn't known.
        """
        spec = environment_of_run(self.config.env_id, self.config.env_kwargs)
        return spec.solved_threshold is not None and self._is_near(spec.solved_threshold)

    def _is_near(self, threshold: float) -> bool:
        if self.curve is None:
            return False
        reached = max(float(self.curve.last(0.1).mean()), self._recent_mean)
        return reached >= threshold - 0.1 * abs(threshold - self.curve.start)

    @property
    def does_well(self) -> bool:
        """Whether the reward is near the threshold; without a threshold, whether it has risen."""
        if self.environment.solved_threshold is None:
            return self.has_learned
        return self.is_near_goal

    @property
    def _recent_mean(self) -> float:
        newest = [episode.reward for episode in self.history.recent][-100:]
        return float(np.mean(newest)) if newest else -math.inf

    @property
    def lacks_progress(self) -> bool:
        """Whether the run has neither learned nor come near its goal."""
        return self.curve is not None and not self.has_learned and not self.is_near_goal

    def evidence(self, metric: str, *, since: float = 0.0, **numbers: float) -> Evidence:
        """Return evidence; `since` is the share of the run at which its window begins."""
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
        """The step of the last change of hyperparameters."""
        return max((change.timesteps for change in self.config.changes), default=0)


def _largest(value: Any) -> Any:  # noqa: ANN401 - a hyperparameter of any type
    return max(y for _, y in value.points) if isinstance(value, Schedule) else value


def _short(value: float) -> float:
    """Round to four significant digits."""
    number = float(value)
    return float(f"{number:.4g}") if math.isfinite(number) else 0.0
