"""Look after a person's code for as long as a worker lives: its time, its prints, its crashes."""

import faulthandler
import os
import sys
from typing import TextIO, cast

from app.protocol import commands, messages
from app.protocol.pipe import Channel
from app.protocol.user_code import HangingError
from app.worker.user_code.prints import Prints
from app.worker.user_code.watchdog import Watchdog


def look_after_code(job: commands.Command, channel: Channel) -> None:
    """Begin to, if the job brings code with it; whatever is loaded of it later is looked after."""
    if not commands.brings_code(job):
        return
    sys.stdout = cast("TextIO", Prints(sys.stdout))
    sys.stderr = cast("TextIO", Prints(sys.stderr))
    # Code that crashes Python itself leaves its line in what the worker prints.
    faulthandler.enable(file=_STDERR)

    def end_the_worker(error: HangingError) -> None:
        channel.send(messages.Failed(reason=str(error), traceback="", line=error.line))
        os._exit(0)

    Watchdog(if_stubborn=end_the_worker).start()


_STDERR = 2
