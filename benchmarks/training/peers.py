"""How fast do other libraries train the same? CleanRL's ppo.py and sbx, if they are installed.

Neither is a dependency. `BENCH_CLEANRL` is the path of `ppo.py` of CleanRL 0.4.8, the newest that
can be installed, and `BENCH_SBX_PATH` the folder with sbx (`pip install --target`). CleanRL imports
`gym`, which is obsolete; a shim maps it to Gymnasium.
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

from benchmarks.lab import ROOT, option, progress

ENVIRONMENTS = ("CartPole-v1", "LunarLander-v3")
ROUNDS = option("ROUNDS", 3)
STEPS = option("TIMESTEPS", 32_768)
_N_ENVS, _N_STEPS, _BATCH, _EPOCHS = 8, 2_048, 64, 10


@dataclass(frozen=True, slots=True)
class Peer:
    """A PPO implementation to compare."""

    name: str
    command: Callable[[str, int, int], list[str]]
    path: str
    """The folder of its packages."""
    missing: str | None
    """How to make it available; None: it is."""


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
    return [
        sys.executable,
        "-m",
        "benchmarks.training.one_training",
        "ours",
        json.dumps(request),
        "cold",
    ]


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
"""The parts of `gym` that CleanRL's ppo.py imports."""

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
    """Print steps per second of CPU time, and how much faster the lab's engine is."""
    what = f"{_N_ENVS} environments, {_N_STEPS} steps, minibatches of {_BATCH}, {_EPOCHS} epochs"
    print(f"PPO, {what}; {ROUNDS} alternating rounds, medians; per second of CPU time\n")
    peers = _peers()
    for peer in peers:
        if peer.missing:
            print(f"{peer.name} is missing: {peer.missing}\n")
    found = [peer for peer in peers if not peer.missing]
    if len(found) == 1:
        return
    print("| training | " + " | ".join(f"{peer.name} steps/s" for peer in found) + " | ratios |")
    print("|---|" + "---|" * (len(found) + 1))
    for env_id in ENVIRONMENTS:
        _measure(env_id, found)


def _peers() -> list[Peer]:
    cleanrl = None if os.environ.get("BENCH_CLEANRL") else "set BENCH_CLEANRL to its ppo.py."
    sbx = None if os.environ.get("BENCH_SBX_PATH") else "set BENCH_SBX_PATH to its folder."
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
            # The difference of a longer and a shorter training excludes imports and compilation.
            short, long = (_seconds(peer, env_id, steps, seed) for steps in (STEPS, 3 * STEPS))
            speeds[peer.name].append(2 * STEPS / (long - short))
    progress(ROUNDS, ROUNDS, env_id)
    ours = speeds["ours"]
    ratios = []
    for name, peer_speeds in list(speeds.items())[1:]:
        ratio = statistics.median(a / b for a, b in zip(ours, peer_speeds, strict=True))
        ratios.append(f"{name} {ratio:.1f}")
    cells = [f"{statistics.median(speeds[peer.name]):,.0f}" for peer in peers]
    print(f"| PPO on {env_id} | {' | '.join(cells)} | {', '.join(ratios)} |", flush=True)


def _seconds(peer: Peer, env_id: str, steps: int, seed: int) -> float:
    """Return the CPU time of one training in a separate process."""
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
