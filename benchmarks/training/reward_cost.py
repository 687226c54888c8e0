"""What does a custom reward cost per step, and what does the sandbox cost?

No model, random actions, one environment: bare, with a reward that returns the original one, with
one that has terms, and both in a sandbox. All alternate in many short rounds, of which the fastest
is the one that other load disturbed least. The functions alone are timed on the same arguments, to
separate their time from the wrapper's.
"""

import json
import subprocess
import sys

from benchmarks.lab import option, progress

ENVIRONMENTS = ("CartPole-v1", "LunarLander-v3", "Pendulum-v1")
STEPS = option("STEPS", 500)
ROUNDS = option("ROUNDS", 100)
REWARDS = ("a number", "two terms")


def run() -> None:
    """Print microseconds per step of each, and what the wrapper adds beyond the function."""
    print(
        f"{STEPS:,} steps per round, {ROUNDS} rounds; microseconds per step of the fastest round\n"
    )
    print("| environment | reward | bare | with reward | added | function | wrapper |")
    print("|---|---|---|---|---|---|---|")
    rows: list[tuple[str, float, float]] = []
    with _PlayerProcess(sandbox=False) as plain, _PlayerProcess(sandbox=True) as sandbox:
        for env_id in ENVIRONMENTS:
            for name in REWARDS:
                rows.append((f"{env_id}, {name}", *_measure(env_id, name, plain, sandbox)))
    print("\n| environment, reward | without sandbox | in a sandbox | ratio |")
    print("|---|---|---|---|")
    for what, plain_s, sandbox_s in rows:
        print(f"| {what} | {plain_s:.2f} | {sandbox_s:.2f} | {sandbox_s / plain_s:.3f} |")


def _measure(
    env_id: str, reward: str, plain: "_PlayerProcess", sandbox: "_PlayerProcess"
) -> tuple[float, float]:
    kinds: dict[str, list[float]] = {"bare": [], "shaped": [], "function": [], "sandbox": []}
    for done in range(ROUNDS):
        progress(done, ROUNDS, f"{env_id}, {reward}")
        for kind in ("bare", "shaped", "function"):
            kinds[kind].append(plain.play(env_id, reward, kind))
        kinds["sandbox"].append(sandbox.play(env_id, reward, "shaped"))
    progress(ROUNDS, ROUNDS, f"{env_id}, {reward}")
    bare, shaped, function, sandboxed = (min(kinds[kind]) for kind in kinds)
    added = shaped - bare
    cells = (f"{value:.2f}" for value in (bare, shaped, added, function, added - function))
    print(f"| {env_id} | {reward} | {' | '.join(cells)} |", flush=True)
    return shaped, sandboxed


class _PlayerProcess:
    """A process that plays on request, sandboxed like a worker or not."""

    def __init__(self, *, sandbox: bool) -> None:
        mode = "sandbox" if sandbox else "plain"
        command = [sys.executable, "-m", "benchmarks.training.reward_player", mode, str(STEPS)]
        self._process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )

    def __enter__(self) -> "_PlayerProcess":
        return self

    def __exit__(self, *_: object) -> None:
        self._process.kill()
        self._process.wait()

    def play(self, *what: str) -> float:
        """Return the microseconds per step."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write(json.dumps(what) + "\n")
        self._process.stdin.flush()
        return float(json.loads(self._process.stdout.readline()))
