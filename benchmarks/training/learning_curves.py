"""Do both engines learn equally well? Ten seeds each, same presets, curves with bands.

Curves are the mean reward of the last 100 episodes, aggregated over seeds to the interquartile mean
with its 95 % band. One training per core at a time, the engines alternately.
"""

import os
from collections import deque
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from typing import Any

from app.run_config.config import RunConfig
from app.run_config.request import RunRequest
from app.runs.groups import GroupPoint, group_curve
from benchmarks.lab import one_thread_each, option, progress

TASKS: dict[str, dict[str, Any]] = {
    "CartPole-v1": {"preset": "fast"},
    "Pendulum-v1": {
        "total_timesteps": 80_000,
        "n_envs": 4,
        "hyperparameters": {"n_steps": 1024, "gamma": 0.9, "learning_rate": 1e-3},
    },
    "Acrobot-v1": {"preset": "high_score", "total_timesteps": 200_000},
    "LunarLander-v3": {"preset": "fast"},
}
ENGINES = ("sb3", "fast")
SEEDS = option("SEEDS", 10)
_QUARTERS = (0.25, 0.5, 0.75, 1.0)
_MEAN_OVER = 100


def run() -> None:
    """Print both curves at four points, and whether the bands overlap there."""
    print(f"PPO, seeds 1 to {SEEDS}; interquartile mean (95 % band)\n")
    print("| environment | steps | Stable-Baselines3 | fast | bands |")
    print("|---|---|---|---|---|")
    one_thread_each()
    with ProcessPoolExecutor(
        os.cpu_count(), mp_context=get_context("spawn"), max_tasks_per_child=1
    ) as pool:
        for env_id in TASKS:
            _print(env_id, *(group_curve(found) for found in _histories(pool, env_id)))


def _histories(pool: ProcessPoolExecutor, env_id: str) -> list[list[list[dict[str, float]]]]:
    """Return the learning curves of all seeds, by engine."""
    jobs = [(env_id, engine, seed) for seed in range(1, SEEDS + 1) for engine in ENGINES]
    found = []
    for number, history in enumerate(pool.map(_learn, *zip(*jobs, strict=True)), start=1):
        found.append(history)
        progress(number, len(jobs), env_id)
    return [found[n :: len(ENGINES)] for n in range(len(ENGINES))]


def _print(env_id: str, plain: list[GroupPoint], fast: list[GroupPoint]) -> None:
    last = min(plain[-1].timesteps, fast[-1].timesteps)
    for part in _QUARTERS:
        one, other = (_at(curve, part * last) for curve in (plain, fast))
        overlap = _low(one) <= _high(other) and _low(other) <= _high(one)
        assert one.seeds == other.seeds == SEEDS
        cells = (
            f"{part * last:,.0f}",
            _cell(one),
            _cell(other),
            "overlap" if overlap else "disjoint",
        )
        print(f"| {env_id} | {' | '.join(cells)} |", flush=True)


def _at(curve: list[GroupPoint], timesteps: float) -> GroupPoint:
    return min(curve, key=lambda point: abs(point.timesteps - timesteps))


def _cell(point: GroupPoint) -> str:
    return f"{point.iqm:,.1f} ({_low(point):,.1f} to {_high(point):,.1f})"


def _low(point: GroupPoint) -> float:
    """Return the start of the interval; equal seeds have none."""
    return point.iqm if point.low is None else point.low


def _high(point: GroupPoint) -> float:
    return point.iqm if point.high is None else point.high


def _learn(env_id: str, engine: str, seed: int) -> list[dict[str, float]]:
    """Train once and return the learning curve."""
    import torch
    from stable_baselines3.common.callbacks import BaseCallback

    from app.worker.envs.vectorized.pipeline import make_training_envs
    from app.worker.models.models import build_model

    class Curve(BaseCallback):
        def __init__(self) -> None:
            super().__init__()
            self.points: list[dict[str, float]] = []
            self._rewards: deque[float] = deque(maxlen=_MEAN_OVER)

        def _on_step(self) -> bool:
            ended = [info["episode"]["r"] for info in self.locals["infos"] if "episode" in info]
            if ended:
                self._rewards.extend(ended)
                self._add()
            return True

        def _on_training_end(self) -> None:
            # The last episode ends before the budget; without this point curves would end early.
            self._add()

        def _add(self) -> None:
            mean = sum(self._rewards) / len(self._rewards)
            self.points.append({"timesteps": self.num_timesteps, "mean_reward": mean})

    torch.set_num_threads(1)
    request = RunRequest(env_id=env_id, algorithm="PPO", seed=seed, engine=engine, **TASKS[env_id])
    config = RunConfig.from_request(request)
    setup = config.setup()
    envs = make_training_envs(setup, config.n_envs)
    curve = Curve()
    build_model(setup, envs, seed=seed).learn(config.total_timesteps, callback=curve)
    return curve.points
