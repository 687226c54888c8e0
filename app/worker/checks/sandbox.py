"""Check the sandbox by trying to escape from it."""

from app.protocol import Channel, commands, messages
from app.worker.sandbox.canary import run_attacks


def check_sandbox(job: commands.CheckSandbox, channel: Channel) -> None:
    """Report which attacks succeeded."""
    succeeded = run_attacks(job.canary, job.lab_pid, job.memory_mb)
    channel.send(messages.Escapes(attacks=tuple(succeeded)))
