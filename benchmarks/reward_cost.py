"""What does a reward of one's own cost a step, and what does the sandbox?

No model, random actions, one environment: bare, with a reward that does nothing, with one that has
terms, and the same locked in. All in turn, in many short turns, of which the quickest is the one
that other load disturbed least. The functions alone are timed on the same arguments, to tell their
time from the wrapper's.
"""

import json
import subprocess
import sys

from benchmarks.lab import progress, wish

ENVIRONMENTS = ("CartPole-v1", "LunarLander-v3", "Pendulum-v1")
STEPS = wish("STEPS", 500)
ROUNDS = wish("ROUNDS", 100)
REWARDS = ("a number", "two terms")


def run() -> None:
    """Print microseconds per step of each, and what the wrapper adds beyond the function."""
    print(
        f"{STEPS:,} steps a turn, {ROUNDS} turns of each; microseconds per step in the quickest\n"
    )
    print("| environment | reward | bare | with it | added | the function | the wrapper |")
    print("|---|---|---|---|---|---|---|")
    sandbox: list[tuple[str, float, float]] = []
    with _Player(locked=False) as free, _Player(locked=True) as locked:
        for env_id in ENVIRONMENTS:
            for name in REWARDS:
                sandbox.append((f"{env_id}, {name}", *_measure(env_id, name, free, locked)))
    print("\n| environment, reward | in the open | locked in | ratio |")
    print("|---|---|---|---|")
    for what, open_s, locked_s in sandbox:
        print(f"| {what} | {open_s:.2f} | {locked_s:.2f} | {locked_s / open_s:.3f} |")


def _measure(env_id: str, reward: str, free: "_Player", locked: "_Player") -> tuple[float, float]:
    kinds: dict[str, list[float]] = {"bare": [], "shaped": [], "function": [], "locked": []}
    for done in range(ROUNDS):
        progress(done, ROUNDS, f"{env_id}, {reward}")
        for kind in ("bare", "shaped", "function"):
            kinds[kind].append(free.play(env_id, reward, kind))
        kinds["locked"].append(locked.play(env_id, reward, "shaped"))
    progress(ROUNDS, ROUNDS, f"{env_id}, {reward}")
    bare, shaped, function, inside = (min(kinds[kind]) for kind in kinds)
    added = shaped - bare
    cells = (f"{value:.2f}" for value in (bare, shaped, added, function, added - function))
    print(f"| {env_id} | {reward} | {' | '.join(cells)} |", flush=True)
    return shaped, inside


class _Player:
    """A process that plays when it is asked to, locked in like a worker or not."""

    def __init__(self, *, locked: bool) -> None:
        how = "locked" if locked else "free"
        command = [sys.executable, "-m", "benchmarks.reward_player", how, str(STEPS)]
        self._process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )

    def __enter__(self) -> "_Player":
        return self

    def __exit__(self, *_: object) -> None:
        self._process.kill()
        self._process.wait()

    def play(self, *what: str) -> float:
        """Return how many microseconds a step takes."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write(json.dumps(what) + "\n")
        self._process.stdin.flush()
        return float(json.loads(self._process.stdout.readline()))
