"""Check flags, variables and the port before slow imports, which take seconds."""

import errno
import os
import socket
import sys
from collections.abc import Mapping, Sequence
from typing import NoReturn

from app.core import Settings, SettingsError, read_settings

_REFUSED = 2


def settings_or_exit(arguments: Sequence[str], commands: Mapping[str, str]) -> Settings:
    """Return valid settings, or print what is wrong in one sentence and exit with 2."""
    try:
        settings = read_settings(arguments, os.environ, commands=commands)
        _check_port(settings)
    except SettingsError as error:
        refuse(str(error))
    return settings


def refuse(sentence: str) -> NoReturn:
    """Print why the server does not start, and exit with 2."""
    sys.stderr.write(f"{sentence}\n")
    sys.exit(_REFUSED)


def _check_port(settings: Settings) -> None:
    family = socket.AF_INET6 if ":" in settings.host else socket.AF_INET
    with socket.socket(family) as probe:
        # As the server will do: a port in TIME_WAIT after an earlier server counts as free.
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((settings.host, settings.port))
        except OSError as error:
            reason = (
                "is in use"
                if error.errno == errno.EADDRINUSE
                else f"can't be used ({error.strerror})"
            )
            raise SettingsError(
                f"Port {settings.port} on {settings.host} {reason}. Choose another with --port."
            ) from None
