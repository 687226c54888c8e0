"""Check the sandbox by trying to break out of it."""

from app.protocol import commands, messages
from app.protocol.pipe import Channel
from app.worker.sandbox.canary import open_doors


def check_sandbox(job: commands.CheckSandbox, channel: Channel) -> None:
    """Say which attacks worked."""
    doors = open_doors(job.canary, job.lab_pid, job.memory_mb)
    channel.send(messages.Doors(open=tuple(doors)))
