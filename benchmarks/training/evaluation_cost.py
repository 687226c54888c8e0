"""How much faster is an evaluation that plays all episodes at once than one by one?

The same policy on the same seeds, alternating; the returns must be the same. CPU seconds.
"""

import time
from collections.abc import Callable
from statistics import median

from app.protocol.messages import AGENT
from app.protocol.seeds import SeedFamily
from app.run_config import RunConfig, RunRequest
from benchmarks.lab import option

CASES = (
    ("CartPole-v1", "PPO", 30_000),
    ("LunarLander-v3", "PPO", 30_000),
    ("Pendulum-v1", "SAC", 1_000),
)
EPISODES = option("EPISODES", 20)
ROUNDS = option("ROUNDS", 3)
SEED = SeedFamily.TEST.first_seed


def run() -> None:
    """Print the CPU seconds of both ways, and their ratio."""
    print(f"{EPISODES} episodes, {ROUNDS} rounds, median CPU seconds\n")
    print("| environment | algorithm | one by one | at once | ratio |")
    print("|---|---|---|---|---|")
    for env_id, algorithm, steps in CASES:
        one_by_one, at_once = _measure(env_id, algorithm, steps)
        print(
            f"| {env_id} | {algorithm} | {one_by_one:.2f} | {at_once:.2f} "
            f"| {one_by_one / at_once:.1f} |",
            flush=True,
        )


def _measure(env_id: str, algorithm: str, steps: int) -> tuple[float, float]:
    import torch

    from app.worker.envs.vectorized.pipeline import make_evaluation_envs, make_training_envs
    from app.worker.evaluation.evaluate import build_to_evaluate, play_episodes
    from app.worker.evaluation.parallel_episodes import ParallelEpisodes
    from app.worker.evaluation.player import Player, Policy
    from app.worker.models.models import build_model, load_weights, save_weights

    torch.set_num_threads(1)
    config = RunConfig.from_request(RunRequest(env_id=env_id, algorithm=algorithm, seed=1))
    setup = config.setup()
    envs = make_training_envs(setup, config.n_envs)
    trained = build_model(setup, envs, seed=1)
    trained.learn(steps)
    played = make_evaluation_envs(setup)
    model = build_to_evaluate(setup, played, deterministic=True)
    load_weights(model, played, save_weights(trained, envs))
    player = Player(played, {AGENT: Policy(model, deterministic=True)})
    parallel = ParallelEpisodes(setup, model, disturbed=False)
    ways: tuple[Callable[[], list[float]], ...] = (
        lambda: [one.return_ for one in play_episodes(player, EPISODES, SEED)],
        lambda: [one.return_ for one in parallel.play(EPISODES, seed=SEED, observed_by=played)],
    )
    seconds: tuple[list[float], list[float]] = ([], [])
    for _ in range(ROUNDS):
        returns = []
        for way, spent in zip(ways, seconds, strict=True):
            began = time.process_time()
            returns.append(way())
            spent.append(time.process_time() - began)
        assert returns[0] == returns[1]
    return median(seconds[0]), median(seconds[1])
