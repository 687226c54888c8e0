"""How fast do others train the same? CleanRL's ppo.py and sbx, where they are beside the lab.

Neither is a dependency. `BENCH_CLEANRL` names the `ppo.py` of CleanRL 0.4.8, the newest that can be
installed, and `BENCH_SBX_PATH` the folder into which sbx was (`pip install --target`). CleanRL asks
for `gym`, which is no more; it gets Gymnasium under that name.
"""

import json
import os
import resource
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from benchmarks.lab import ROOT, progress, wish

ENVIRONMENTS = ("CartPole-v1", "LunarLander-v3")
ROUNDS = wish("ROUNDS", 3)
STEPS = wish("TIMESTEPS", 32_768)
_N_ENVS, _N_STEPS, _BATCH, _EPOCHS = 8, 2_048, 64, 10


@dataclass(frozen=True, slots=True)
class Peer:
    """Somebody else's PPO."""

    name: str
    command: Callable[[str, int, int], list[str]]
    path: str
    """Where its packages are."""
    missing: str | None
    """What to do to have it measured."""


def _cleanrl(env_id: str, steps: int, seed: int) -> list[str]:
    return [
        sys.executable,
        os.environ["BENCH_CLEANRL"],
        f"--gym-id={env_id}",
        f"--total-timesteps={steps}",
        f"--seed={seed}",
        f"--num-envs={_N_ENVS}",
        f"--num-steps={_N_STEPS}",
        f"--n-minibatch={_N_ENVS * _N_STEPS // _BATCH}",
        f"--update-epochs={_EPOCHS}",
    ]


def _ours(env_id: str, steps: int, seed: int) -> list[str]:
    request = {
        "env_id": env_id,
        "algorithm": "PPO",
        "n_envs": _N_ENVS,
        "hyperparameters": {"n_steps": _N_STEPS, "batch_size": _BATCH, "n_epochs": _EPOCHS},
        "total_timesteps": steps,
        "seed": seed,
    }
    return [sys.executable, "-m", "benchmarks.one_training", "ours", json.dumps(request), "cold"]


def _sbx(env_id: str, steps: int, seed: int) -> list[str]:
    return [sys.executable, "-c", _SBX, env_id, str(steps), str(seed)]


_GYM = {
    "__init__.py": "from gymnasium import make\nfrom . import spaces, wrappers\n",
    "spaces.py": "from gymnasium.spaces import *\nfrom gymnasium.spaces import Space\n",
    "wrappers.py": """
from gymnasium import wrappers
from gymnasium.wrappers import TimeLimit

Monitor = None

class RecordEpisodeStatistics(wrappers.RecordEpisodeStatistics):
    def seed(self, seed):
        self.reset(seed=seed)
""",
}
"""As much of `gym` as CleanRL's ppo.py asks for."""

_SBX = f"""
import sys
from sbx import PPO
from stable_baselines3.common.env_util import make_vec_env
env_id, steps, seed = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
model = PPO("MlpPolicy", make_vec_env(env_id, {_N_ENVS}, seed=seed), n_steps={_N_STEPS},
            batch_size={_BATCH}, n_epochs={_EPOCHS}, seed=seed)
model.learn(steps)
"""


def run() -> None:
    """Print steps per second of processor time, and how much faster the lab's engine is."""
    what = f"{_N_ENVS} environments, {_N_STEPS} steps, minibatches of {_BATCH}, {_EPOCHS} epochs"
    print(f"PPO, {what}; {ROUNDS} rounds in turn, medians; per second of processor time\n")
    peers = _peers()
    for peer in peers:
        if peer.missing:
            print(f"{peer.name} is not here: {peer.missing}\n")
    there = [peer for peer in peers if not peer.missing]
    if len(there) == 1:
        return
    print("| training | " + " | ".join(f"{peer.name} steps/s" for peer in there) + " | ratios |")
    print("|---|" + "---|" * (len(there) + 1))
    for env_id in ENVIRONMENTS:
        _measure(env_id, there)


def _peers() -> list[Peer]:
    cleanrl = None if os.environ.get("BENCH_CLEANRL") else "set BENCH_CLEANRL to its ppo.py."
    sbx = None if os.environ.get("BENCH_SBX_PATH") else "set BENCH_SBX_PATH to where it is."
    return [
        Peer("ours", _ours, "", None),
        Peer("CleanRL", _cleanrl, "", cleanrl),
        Peer("sbx", _sbx, os.environ.get("BENCH_SBX_PATH", ""), sbx),
    ]


def _measure(env_id: str, peers: list[Peer]) -> None:
    speeds: dict[str, list[float]] = {peer.name: [] for peer in peers}
    for seed in range(1, ROUNDS + 1):
        progress(seed - 1, ROUNDS, env_id)
        for peer in peers:
            # The difference of a longer and a shorter one leaves imports and compiling out.
            short, long = (_seconds(peer, env_id, steps, seed) for steps in (STEPS, 3 * STEPS))
            speeds[peer.name].append(2 * STEPS / (long - short))
    progress(ROUNDS, ROUNDS, env_id)
    ours = speeds["ours"]
    ratios = []
    for name, theirs in list(speeds.items())[1:]:
        ratio = statistics.median(a / b for a, b in zip(ours, theirs, strict=True))
        ratios.append(f"{name} {ratio:.1f}")
    cells = [f"{statistics.median(speeds[peer.name]):,.0f}" for peer in peers]
    print(f"| PPO on {env_id} | {' | '.join(cells)} | {', '.join(ratios)} |", flush=True)


def _seconds(peer: Peer, env_id: str, steps: int, seed: int) -> float:
    """Return the processor time of one training in a process of its own."""
    one_thread = {"OMP_NUM_THREADS": "1", "MKL_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}
    eigen = {"XLA_FLAGS": "--xla_cpu_multi_thread_eigen=false intra_op_parallelism_threads=1"}
    before = _used()
    with tempfile.TemporaryDirectory() as folder:
        gym = Path(folder, "gym")
        gym.mkdir()
        for name, text in _GYM.items():
            (gym / name).write_text(text)
        path = {"PYTHONPATH": os.pathsep.join(filter(None, (str(ROOT), peer.path, folder)))}
        subprocess.run(
            peer.command(env_id, steps, seed),
            cwd=folder,
            env={**os.environ, **one_thread, **eigen, **path},
            capture_output=True,
            check=True,
        )
    return _used() - before


def _used() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime
