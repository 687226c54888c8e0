"""A worker that only talks: it locks itself in as any other, then reports made-up episodes.

Started by `chatty_server` in place of the real one; the number of lines is the run's budget.
"""

import os
import runpy
import sys
import time
from pathlib import Path

_ROOT = Path(__file__).resolve().parent.parent
_LINES_PER_MESSAGE = 500
_MESSAGES_PER_SECOND = 30


def main() -> None:
    """Take the part of a learner; other roles are played by the real worker."""
    sys.path.insert(0, str(_ROOT))
    if sys.argv[1] != "learner":
        runpy.run_path(str(_ROOT / "app" / "worker" / "boot.py"), run_name="__main__")
        return
    out = os.dup(1)
    os.dup2(2, 1)

    import app.worker
    from app.worker import framing, messages, orders, sandbox
    from app.worker.channel import Channel, Control

    channel = Channel(out)
    layers = sandbox.lock_down(list(app.worker.__path__), memory_mb=int(sys.argv[2]))
    channel.send(messages.Locked(layers=tuple(layers)))
    channel.send(messages.Ready())
    job = orders.decode_command(framing.read(0)[1])
    control = Control()
    if isinstance(job, orders.Train):
        _talk(job.total_timesteps, channel)
    while not control.stop_requested:
        time.sleep(0.5)


def _talk(count: int, channel: object) -> None:
    from app.worker import messages
    from app.worker.channel import Channel

    assert isinstance(channel, Channel)
    began = time.perf_counter()
    channel.send(messages.Started())
    for start in range(1, count + 1, _LINES_PER_MESSAGE):
        numbers = range(start, min(start + _LINES_PER_MESSAGE, count + 1))
        elapsed = time.perf_counter() - began
        channel.send(messages.Measured(lines=tuple(_line(n, count, elapsed) for n in numbers)))
        channel.send(
            messages.Progressed(
                timesteps=numbers[-1],
                vec_steps=numbers[-1],
                updates=0,
                episodes=numbers[-1],
                elapsed_s=elapsed,
                fps=1_000.0,
            )
        )
        time.sleep(1 / _MESSAGES_PER_SECOND)


def _line(number: int, count: int, elapsed: float) -> "messages.Line":  # noqa: F821 - imported once locked in
    from app.worker import messages

    reward = float(number % 487)
    return messages.Line(
        t="2026-01-01T00:00:00.000Z",
        timesteps=number,
        vec_steps=number,
        updates=0,
        episode=number,
        elapsed_s=elapsed,
        fps=1_000.0,
        progress=number / count,
        values={"reward": reward, "episode_length": number % 487, "mean_reward": 243.0},
    )


main()
