"""Synthetic runs: the metrics that a worker would have measured, without training."""

from collections.abc import Callable, Mapping
from typing import Any

from app.analysis.insights.history import History
from app.analysis.insights.situation import Situation
from app.run_config.config import RunConfig
from app.run_config.request import RunRequest
from storage.records.runs import RunStatus

Curve = Callable[[float], float | None]
"""A value as a function of the completed share of the run."""

EPISODES = 400
UPDATES = 80


def flat(value: float) -> Curve:
    return lambda _: value


def rising(low: float, high: float, *, until: float = 0.6) -> Curve:
    return lambda share: low + (high - low) * min(1.0, share / until)


def noisy(curve: Curve, scatter: float) -> Curve:
    """Add a fixed pattern that has no trend."""
    count = iter(range(10_000_000))

    def value(share: float) -> float:
        return (curve(share) or 0.0) + scatter * ((next(count) * 7919 % 200) / 100 - 1)

    return value


def situation(
    settings: Mapping[str, Any] | None = None,
    *,
    reward: Curve | None = None,
    length: Curve | None = None,
    status: RunStatus = RunStatus.COMPLETED,
    error: str | None = None,
    **metrics: Curve,
) -> Situation:
    """Return a run that used its whole budget, with these curves."""
    seeds = tuple((settings or {}).get("seeds_scored", ()))
    values = {k: v for k, v in (settings or {}).items() if k != "seeds_scored"}
    request = {"env_id": "CartPole-v1", "algorithm": "PPO", "total_timesteps": 100_000, **values}
    config = RunConfig.from_request(RunRequest(**request))
    history = History()
    total = config.total_timesteps
    lines = [_episode(n, total, reward, length) for n in range(1, EPISODES + 1) if reward]
    lines += [_update(n, total, metrics) for n in range(1, UPDATES + 1)]
    history.add(sorted(lines, key=lambda line: line["timesteps"]))
    return Situation(config, history, status=status, error=error, seeds=seeds)


def _episode(n: int, total: int, reward: Curve | None, length: Curve | None) -> dict[str, Any]:
    share = n / EPISODES
    assert reward is not None
    return {
        "timesteps": int(share * total),
        "episode": n,
        "elapsed_s": 60 * share,
        "reward": reward(share),
        "episode_length": int((length or flat(100))(share) or 0),
    }


def _update(n: int, total: int, metrics: Mapping[str, Curve]) -> dict[str, Any]:
    share = n / UPDATES
    values = {name: curve(share) for name, curve in metrics.items()}
    return {"timesteps": int(share * total), "updates": n, "elapsed_s": 60 * share, **values}
