"""A fake worker: it is sandboxed like any other, but reports synthetic episodes.

Started by `chatty_server` in place of the real one; the number of lines is the run's budget.
"""

import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from app.worker import boot

if TYPE_CHECKING:
    from app.protocol import commands, messages
    from app.protocol.pipe import Channel, Control

_LINES_PER_MESSAGE = 500
_MESSAGES_PER_SECOND = 30


def train(job: "commands.Train", channel: "Channel", control: "Control", _: bytes) -> None:
    """Replace `app.worker.training.train.train`."""
    _report(job.total_timesteps, channel)
    while not control.stop_requested:
        time.sleep(0.5)


def _report(count: int, channel: "Channel") -> None:
    from app.protocol import messages

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


def _line(number: int, count: int, elapsed: float) -> "messages.Line":
    from app.protocol import messages

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


sys.modules["app.worker.training.train"] = sys.modules[__name__]
boot.main()
