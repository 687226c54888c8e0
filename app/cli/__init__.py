"""What can be done without a web page: one file per command."""

import importlib
import logging
import sys
from collections.abc import Sequence

COMMANDS = {
    "train": "train with a progress bar and keep the model",
    "evaluate": "play a run's policy and say what it is worth",
    "runs": "list the runs",
    "export": "pack a run into a zip",
    "reset-password": "let somebody set a new password",
}

REFUSED = 2
"""The exit code where nothing was done, because of wrong usage or a lab in use."""
_INTERRUPTED = 130


def is_command(arguments: Sequence[str]) -> bool:
    """Whether the arguments name something else than the server."""
    return bool(arguments) and arguments[0] in COMMANDS


def run_command(arguments: Sequence[str]) -> int:
    """Do what the arguments say and return the exit code."""
    logging.basicConfig(level=logging.WARNING, format="%(levelname)s %(message)s")
    try:
        from app.cli.refusals import REFUSALS, sentence

        try:
            # Imported when asked for: to list runs one doesn't wait for the trainer's libraries.
            command = importlib.import_module(f"app.cli.{arguments[0].replace('-', '_')}")
            code: int = command.run(arguments[1:])
        except REFUSALS as error:
            sys.stderr.write(f"{sentence(error)}\n")
            return REFUSED
    except KeyboardInterrupt:
        sys.stderr.write("Ended by Ctrl-C.\n")
        return _INTERRUPTED
    return code
