"""What the commands' flags have in common."""

import argparse
import json
import os
from collections.abc import Iterable
from typing import Any

from app.catalog.algorithms.catalogue import CATALOGUE
from app.core.errors import InputError
from app.core.settings import SentenceParser, Settings, read_settings

RUN_HELP = "a run: its id, the first characters of it, or latest"

_LISTS = frozenset(
    parameter.name
    for spec in CATALOGUE.values()
    for parameter in spec.hyperparameters
    if parameter.type == "layers"
)


def make_parser(command: str, description: str, *examples: str) -> SentenceParser:
    """Return a parser with the flags that every command has."""
    typed = "\n".join(f"  python main.py {command} {example}".rstrip() for example in examples)
    parser = SentenceParser(
        prog=f"python main.py {command}",
        description=description,
        epilog=f"for example:\n{typed}",
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    parser.add_argument(
        "--runs-dir", metavar="DIR", help="folder of the lab (default: RL_LAB_RUNS, or runs)"
    )
    return parser


def settings_from(given: argparse.Namespace) -> Settings:
    """Return the lab's settings, changed by a command's flags.

    Raises:
        SettingsError: if one can't be used.
    """
    flags = {"--runs-dir": given.runs_dir, "--workers": getattr(given, "workers", None)}
    typed = [part for flag, value in flags.items() if value is not None for part in (flag, value)]
    return read_settings(typed, os.environ)


def read_value(text: str) -> Any:  # noqa: ANN401 - whatever a person can type
    """Read a number, true, false, null, a list such as 64,64, JSON, or else a text."""
    for written in (text, f"[{text}]"):
        try:
            return json.loads(written, parse_constant=_refuse)
        except ValueError:
            continue
    return text


def read_pairs(flag: str, typed: Iterable[str]) -> dict[str, Any]:
    """Read what a flag such as `--set learning_rate=1e-3` was given.

    Raises:
        InputError: if one is no pair, or a name comes twice.
    """
    pairs: dict[str, Any] = {}
    for text in typed:
        name, is_pair, value = text.partition("=")
        if not is_pair or not name:
            raise InputError(f"{flag} must look like NAME=VALUE, got {text[:80]!r}.")
        if name in pairs:
            raise InputError(f"{flag} {name[:80]} is given twice. Keep one.")
        read = read_value(value)
        pairs[name] = [read] if name in _LISTS and isinstance(read, int) else read
    return pairs


def _refuse(constant: str) -> None:
    """Leave NaN and Infinity the texts that they are."""
    raise ValueError(constant)
