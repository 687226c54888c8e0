"""Parsing of flags, shared by the commands."""

import argparse
import json
import os
from collections.abc import Iterable
from typing import Any

from app.catalog.algorithms import ALGORITHMS
from app.core import InputError, SentenceParser, Settings, read_settings

RUN_HELP = "a run: its id, the first characters of it, or latest"

_LISTS = frozenset(
    parameter.name
    for spec in ALGORITHMS.values()
    for parameter in spec.hyperparameters
    if parameter.type == "layers"
)


def make_parser(command: str, description: str, *examples: str) -> SentenceParser:
    """Return a parser with the common flags."""
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


def settings_from(options: argparse.Namespace) -> Settings:
    """Return the settings of the lab, overridden by the flags of a command.

    Raises:
        SettingsError: if one is invalid.
    """
    flags = {"--runs-dir": options.runs_dir, "--workers": getattr(options, "workers", None)}
    typed = [part for flag, value in flags.items() if value is not None for part in (flag, value)]
    return read_settings(typed, os.environ)


def read_value(text: str) -> Any:  # noqa: ANN401 - whatever a user can type
    """Parse a number, true, false, null, a list such as 64,64 or JSON; else return the text."""
    for written in (text, f"[{text}]"):
        try:
            return json.loads(written, parse_constant=_refuse)
        except ValueError:
            continue
    return text


def read_pairs(flag: str, typed: Iterable[str]) -> dict[str, Any]:
    """Parse the values of a flag such as `--set learning_rate=1e-3`.

    Raises:
        InputError: if one is no pair, or a name is repeated.
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
    """Refuse NaN and Infinity, so that they stay text."""
    raise ValueError(constant)
