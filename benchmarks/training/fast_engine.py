"""How much faster does the fast engine train than plain Stable-Baselines3?

Same hyperparameters and number of environments, one thread, each training in a separate process,
alternately. Plain is SB3 as in its documentation: `make_vec_env` and the algorithm's class.
"""

import statistics
from dataclasses import dataclass
from typing import Any

from app.catalog.environments.envpool import ENVPOOL
from benchmarks.lab import Speed, option, progress, speed_of

ROUNDS = option("ROUNDS", 5)
PERCENT = option("PERCENT", 100)
"""The percentage of each training's steps to do."""
SB3_PPO = {"n_steps": 2_048}
"""SB3's default; SB3's other defaults of PPO and A2C are also the lab's."""
ZOO_CARTPOLE = {
    "learning_rate": 2.3e-3,
    "batch_size": 64,
    "buffer_size": 100_000,
    "learning_starts": 1_000,
    "target_update_interval": 10,
    "train_freq": 256,
    "gradient_steps": 128,
    "exploration_fraction": 0.16,
    "exploration_final_eps": 0.04,
    "net_arch": [256, 256],
}
ZOO_LUNARLANDER = {
    "learning_rate": 6.3e-4,
    "batch_size": 128,
    "buffer_size": 50_000,
    "learning_starts": 0,
    "target_update_interval": 250,
    "train_freq": 4,
    "gradient_steps": -1,
    "exploration_fraction": 0.12,
    "exploration_final_eps": 0.1,
    "net_arch": [256, 256],
}
EARLY = {"learning_starts": 100}
"""Learn from the start; other values are SB3's defaults, including batches of 256."""


@dataclass(frozen=True, slots=True)
class Case:
    """A training to compare."""

    algorithm: str
    env_id: str
    hyperparameters: dict[str, Any]
    steps: int
    target: float | None = None
    simulator: str = "gymnasium"

    def speed(self, variant: str, seed: int) -> Speed:
        """Train in a separate process and return the speed."""
        request = {
            "algorithm": self.algorithm,
            "env_id": self.env_id,
            "hyperparameters": self.hyperparameters,
            "total_timesteps": self.steps * PERCENT // 100,
            "seed": seed,
        }
        if variant != "plain":
            request["wrappers"] = {"simulator": self.simulator}
        return speed_of(variant, **request)


CASES = (
    Case("PPO", "CartPole-v1", SB3_PPO, 32_768, target=6.0),
    Case("PPO", "LunarLander-v3", SB3_PPO, 32_768, target=5.0),
    Case("PPO", "LunarLander-v3", SB3_PPO, 32_768, target=8.0, simulator="envpool"),
    Case("A2C", "CartPole-v1", {}, 40_000),
    Case("DQN", "CartPole-v1", ZOO_CARTPOLE, 10_000, target=2.5),
    Case("DQN", "LunarLander-v3", ZOO_LUNARLANDER, 4_000, target=2.5),
    Case("SAC", "Pendulum-v1", EARLY, 1_000),
    Case("TD3", "Pendulum-v1", EARLY, 1_500),
    Case("TQC", "Pendulum-v1", EARLY, 600),
)


def run() -> None:
    """Print median speeds, the median ratio of the rounds, and the speed of stepping alone."""
    print(f"{ROUNDS} alternating rounds, medians; ratios per second of CPU time\n")
    print("| training | plain SB3 steps/s | fast engine steps/s | ratio | target | stepping/s |")
    print("|---|---|---|---|---|---|")
    for case in CASES:
        if case.simulator == "envpool" and not ENVPOOL.is_installed:
            print(f"| {case.algorithm} on {case.env_id}, EnvPool | not installed |")
            continue
        _measure(case)


def _measure(case: Case) -> None:
    found: dict[str, list[Speed]] = {"plain": [], "ours": [], "stepping": []}
    name = f"{case.algorithm} on {case.env_id}"
    if case.simulator == "envpool":
        name += ", EnvPool"
    for seed in range(1, ROUNDS + 1):
        progress(seed - 1, ROUNDS, name)
        for variant, speeds in found.items():
            speeds.append(case.speed(variant, seed))
    progress(ROUNDS, ROUNDS, name)
    pairs = zip(found["ours"], found["plain"], strict=True)
    ratio = statistics.median(our.per_cpu_second / plain.per_cpu_second for our, plain in pairs)
    speeds = [
        f"{statistics.median(one.per_cpu_second for one in found[variant]):,.0f}"
        for variant in found
    ]
    target = "-" if case.target is None else f"{case.target:g}"
    cells = (name, *speeds[:2], f"{ratio:.1f}", target, speeds[2])
    print(f"| {' | '.join(cells)} |", flush=True)
