"""The commands of the command line: one file each."""

import importlib
import logging
import sys
from collections.abc import Sequence

COMMANDS = {
    "train": "train with a progress bar and save the model",
    "evaluate": "evaluate a run's policy",
    "runs": "list the runs",
    "export": "export a run as a zip",
    "reset-password": "create a code to reset a password",
}

REFUSED = 2
"""The exit code if nothing was done because of wrong usage or a lab in use."""
_INTERRUPTED = 130


def is_command(arguments: Sequence[str]) -> bool:
    """Whether the arguments name a command instead of starting the server."""
    return bool(arguments) and arguments[0] in COMMANDS


def run_command(arguments: Sequence[str]) -> int:
    """Run the command of the arguments and return the exit code."""
    logging.basicConfig(level=logging.WARNING, format="%(levelname)s %(message)s")
    try:
        from app.cli.refusals import REFUSALS, sentence

        try:
            # Imported on demand: listing runs must not load the code that trains.
            command = importlib.import_module(f"app.cli.{arguments[0].replace('-', '_')}")
            code: int = command.run(arguments[1:])
        except REFUSALS as error:
            sys.stderr.write(f"{sentence(error)}\n")
            return REFUSED
    except KeyboardInterrupt:
        sys.stderr.write("Ended by Ctrl-C.\n")
        return _INTERRUPTED
    return code
