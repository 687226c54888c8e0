"""Measure the scores of presets: train each with several seeds, then evaluate 100 episodes.

`make presets` measures the lab's own without a result, cheap ones first, and continues where it
was stopped; `make presets only="CartPole-v1 PPO fast"` measures one, also of RL Zoo (`rl_zoo`)
or SB3 (`sb3_defaults`). Scores are those of the policy at the end of training, greedy and on
seeds that nothing else uses. Seconds are CPU time of the training process, which other load on
the machine hardly affects.
"""

import argparse
import json
import os
import time
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor, as_completed
from multiprocessing import get_context
from pathlib import Path

from app.catalog.algorithms.catalogue import get_algorithm
from app.catalog.environments.catalogue import get_environment
from app.catalog.presets.catalogue import MEASURED, TUNED, presets_for, reason_not_offered
from app.catalog.presets.rl_zoo_scores import published
from app.catalog.presets.spec import Preset, PresetName, write_score
from app.protocol.messages import AGENT
from app.protocol.seeds import SeedFamily
from app.run_config.config import RunConfig
from app.run_config.request import RunRequest
from benchmarks.lab import one_thread_each

EPISODES = 100
FINAL_SEEDS = SeedFamily.FINAL.first_seed
"""The first seed of the evaluation."""
PAGE = Path(__file__).parents[2] / "docs" / "presets.md"
_TABLE = """| environment | algorithm | preset | steps | score of each seed | mean | RL Zoo | time |
|---|---|---|---|---|---|---|---|
"""


def main() -> None:
    """Measure and store the results, one seed at a time."""
    arguments = _read_arguments()
    if arguments.docs:
        PAGE.write_text(page())
        return
    one_thread_each()
    context = get_context("spawn")
    with ProcessPoolExecutor(
        arguments.jobs, mp_context=context, initializer=_lower_priority, max_tasks_per_child=1
    ) as pool:
        running = {
            pool.submit(measure, key, seed): (key, seed)
            for key, seed in _missing(arguments.only, arguments.seeds)
        }
        print(f"{len(running)} trainings", flush=True)
        for number, future in enumerate(as_completed(running), start=1):
            key, seed = running[future]
            result = future.result()
            _store(key, result)
            print(f"{number}/{len(running)} {key}, seed {seed}: {result}", flush=True)
    PAGE.write_text(page())


def measure(key: str, seed: int) -> dict[str, float]:
    """Train one preset with one seed and return its result."""
    import torch
    from stable_baselines3.common.vec_env import VecNormalize

    from app.worker.envs.vectorized.pipeline import make_evaluation_envs, make_training_envs
    from app.worker.evaluation.evaluate import play_episodes
    from app.worker.evaluation.player import Player, Policy
    from app.worker.models.models import build_model, load_weights, save_weights

    torch.set_num_threads(1)
    config = RunConfig.from_request(_request(key, seed))
    setup = config.setup()
    began, began_cpu = time.perf_counter(), time.process_time()
    envs = make_training_envs(setup, config.n_envs)
    model = build_model(setup, envs, seed=seed)
    model.learn(config.total_timesteps)
    seconds = time.process_time() - began_cpu
    wall = time.perf_counter() - began
    evaluation_envs = make_evaluation_envs(setup)
    assert not isinstance(evaluation_envs, VecNormalize) or not evaluation_envs.training
    load_weights(model, evaluation_envs, save_weights(model, envs))
    player = Player(evaluation_envs, {AGENT: Policy(model, deterministic=True)})
    returns = [one.return_ for one in play_episodes(player, EPISODES, FINAL_SEEDS)]
    return {
        "seed": seed,
        "score": round(sum(returns) / EPISODES, 2),
        "lowest": round(min(returns), 2),
        "steps": model.num_timesteps,
        "seconds": round(seconds, 1),
        "wall_seconds": round(wall, 1),
    }


def _request(key: str, seed: int) -> RunRequest:
    """Return the request with all values of a preset, which may not be offered yet."""
    env_id, algorithm, name = key.split()
    preset = _presets(env_id, algorithm)[PresetName(name)]
    return RunRequest(
        env_id=env_id,
        algorithm=algorithm,
        seed=seed,
        total_timesteps=preset.total_timesteps,
        n_envs=preset.n_envs,
        hyperparameters=dict(preset.hyperparameters),
        wrappers=dict(preset.wrappers),
    )


def _presets(env_id: str, algorithm: str) -> dict[PresetName, Preset]:
    offered = presets_for(get_environment(env_id), get_algorithm(algorithm))
    return {**offered, **TUNED.get((env_id, algorithm), {})}


def page() -> str:
    """Return docs/presets.md with a table of the current results."""
    words = PAGE.read_text().partition(_TABLE)[0]
    results = json.loads(MEASURED.read_text())
    # Those of others that were measured follow.
    keys = list(_keys())
    keys += [key for key in results if key not in keys]
    rows = [_row(key, results.get(key, [])) for key in keys]
    return words + _TABLE + "\n".join(rows) + "\n"


def _row(key: str, results: list[dict[str, float]]) -> str:
    env_id, algorithm, name = key.split()
    cells = [env_id, algorithm, PresetName(name).label]
    why_not = reason_not_offered(env_id, algorithm, PresetName(name)) if key in _keys() else None
    if why_not is not None:
        cells[-1] += f" (not offered: {why_not})"
    if not results:
        return f"| {' | '.join(cells)} | | | | | |"
    target = published(env_id, algorithm)
    scores = [one["score"] for one in results]
    seconds = sorted(one["seconds"] for one in results)[len(results) // 2]
    cells += [
        f"{results[0]['steps']:,}",
        ", ".join(write_score(score) for score in scores),
        write_score(sum(scores) / len(scores)),
        f"{target.score:,.1f} in {target.timesteps:,}" if target else "-",
        f"{seconds:,.0f} s" if seconds < 600 else f"{seconds / 60:,.0f} min",
    ]
    return f"| {' | '.join(cells)} |"


def _keys() -> Iterator[str]:
    """Yield the lab's own presets; `_missing` adds others by their full name."""
    for (env_id, algorithm), presets in TUNED.items():
        for name in presets:
            yield f"{env_id} {algorithm} {name}"


def _missing(only: str, seeds: int) -> Iterator[tuple[str, int]]:
    results = json.loads(MEASURED.read_text())
    keys = [key for key in _keys() if key.startswith(only)] or [only]
    for key in keys:
        done = {result["seed"] for result in results.get(key, ())}
        for seed in range(1, seeds + 1):
            if seed not in done:
                yield key, seed


def _store(key: str, result: dict[str, float]) -> None:
    results = json.loads(MEASURED.read_text())
    seeds = [*results.get(key, ()), result]
    results[key] = sorted(seeds, key=lambda one: one["seed"])
    MEASURED.write_text(json.dumps(dict(sorted(results.items())), indent=1) + "\n")


def _lower_priority() -> None:
    os.environ["SDL_VIDEODRIVER"] = "dummy"
    os.nice(15)


def _read_arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", default="", help="env id, algorithm and preset, or a prefix")
    parser.add_argument("--docs", action="store_true", help="only regenerate docs/presets.md")
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--jobs", type=int, default=1)
    return parser.parse_args()


if __name__ == "__main__":
    main()
