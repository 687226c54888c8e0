"""What do random actions score? The zero of normalized scores, where several tasks are compared.

Mean return of complete episodes with uniformly drawn actions, on fixed seeds. Write the numbers
into `app/catalog/environments/reference_scores.py`.
"""

from statistics import fmean, stdev

from app.catalog.environments.reference_scores import reference_scores
from app.worker.envs.environments import make_raw_env
from benchmarks.lab import option, progress

EPISODES = option("EPISODES", 1_000)
_SLOW = {"CarRacing-v3": 20}
"""Episodes that draw each step."""


def run() -> None:
    """Print the mean return of random actions and its standard error in each environment."""
    print("| environment | episodes | random score | standard error |")
    print("|---|---|---|---|")
    for env_id in reference_scores():
        episodes = min(EPISODES, _SLOW.get(env_id, EPISODES))
        returns = _play(env_id, episodes)
        error = stdev(returns) / episodes**0.5
        print(f"| {env_id} | {episodes} | {fmean(returns):.4g} | {error:.2g} |", flush=True)


def _play(env_id: str, episodes: int) -> list[float]:
    env = make_raw_env(env_id)
    env.action_space.seed(0)
    found = []
    for seed in range(episodes):
        env.reset(seed=seed)
        total, is_over = 0.0, False
        while not is_over:
            _, reward, terminated, truncated, _ = env.step(env.action_space.sample())
            total += float(reward)
            is_over = terminated or truncated
        found.append(total)
        progress(seed + 1, episodes, env_id)
    env.close()
    return found
