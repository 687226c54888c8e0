"""Set up the monitoring of user code in a worker: time limit, print limit, crash reports."""

import faulthandler
import os
import sys
from typing import TextIO, cast

from app.protocol import Channel, HangingError, commands, messages
from app.worker.user_code.prints import Prints
from app.worker.user_code.watchdog import Watchdog


def watch_user_code(job: commands.Command, channel: Channel) -> None:
    """Start monitoring if the job brings user code; code that is loaded later is included."""
    if not commands.runs_user_code(job):
        return
    sys.stdout = cast("TextIO", Prints(sys.stdout))
    sys.stderr = cast("TextIO", Prints(sys.stderr))
    # If the code crashes the interpreter, its line is printed to the worker's log.
    faulthandler.enable(file=_STDERR)

    def report_and_exit(error: HangingError) -> None:
        channel.send(messages.Failed(reason=str(error), traceback="", line=error.line))
        os._exit(0)

    Watchdog(on_timeout_ignored=report_and_exit).start()


_STDERR = 2
