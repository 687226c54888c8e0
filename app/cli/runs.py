"""List the runs of a lab: `python main.py runs`."""

import argparse
import json
import signal
from collections.abc import Sequence

from app.cli.console import number, say, table
from app.cli.parsing import make_parser, read_value, settings_from
from app.cli.reading import lab_to_read
from app.core import InputError, SentenceParser, shorten
from app.run_config import seed_of
from storage.database import runs
from storage.records import RunFilter, RunRecord, RunStatus

_MAX_LIMIT = 10_000
_TITLES = ("run", "status", "environment", "algorithm", "steps", "score", "kind", "created")


def run(arguments: Sequence[str]) -> int:
    """Print the runs and return the exit code."""
    # Exit quietly on a closed pipe, as in `... runs | head`.
    signal.signal(signal.SIGPIPE, signal.SIG_DFL)
    options = _parser().parse_args(arguments)
    limit = _limit(options.limit)
    with lab_to_read(settings_from(options)) as exists:
        found = runs.list_runs(_filter(options), limit=limit).items if exists else ()
    say(_as_json(found) if options.json else _as_table(found, is_filtered=_is_filtered(options)))
    return 0


def _parser() -> SentenceParser:
    parser = make_parser(
        "runs",
        "List the runs, the newest first. Works while a server uses the folder, too.",
        "",
        "--status completed --env CartPole-v1 --json",
    )
    statuses = [status.value for status in RunStatus]
    parser.add_argument("--status", choices=statuses, metavar="STATUS", help=", ".join(statuses))
    parser.add_argument("--env", metavar="ENVIRONMENT", help="such as CartPole-v1")
    parser.add_argument(
        "--limit", metavar="N", default="20", help=("largest number of runs (default: 20)")
    )
    parser.add_argument("--json", action="store_true", help="for programs")
    return parser


def _limit(text: str) -> int:
    limit = read_value(text)
    if not isinstance(limit, int) or not 1 <= limit <= _MAX_LIMIT:
        raise InputError(f"--limit must be a number from 1 to {_MAX_LIMIT:,}, got {shorten(text)}.")
    return limit


def _filter(options: argparse.Namespace) -> RunFilter:
    status = None if options.status is None else RunStatus(options.status)
    return RunFilter(status=status, env_id=options.env)


def _is_filtered(options: argparse.Namespace) -> bool:
    return options.status is not None or options.env is not None


def _as_table(found: Sequence[RunRecord], *, is_filtered: bool) -> str:
    if not found:
        first = "Train one with python main.py train CartPole-v1, or on the page."
        return "No matching runs." if is_filtered else f"No runs yet. {first}"
    return table(_TITLES, [_row(one) for one in found])


def _row(one: RunRecord) -> tuple[str, ...]:
    return (
        one.id,
        one.status,
        one.env_id,
        one.algorithm,
        f"{one.progress.timesteps:,}",
        number(one.score),
        one.score_kind.label if one.score_kind else "-",
        one.created_at.astimezone().strftime("%Y-%m-%d %H:%M"),
    )


def _as_json(found: Sequence[RunRecord]) -> str:
    return json.dumps([_object(one) for one in found], indent=2)


def _object(one: RunRecord) -> dict[str, object]:
    return {
        "id": one.id,
        "name": one.name,
        "status": one.status,
        "env_id": one.env_id,
        "algorithm": one.algorithm,
        "seed": seed_of(one),
        "timesteps": one.progress.timesteps,
        "total_timesteps": one.total_timesteps,
        "best": one.progress.best,
        "score": one.score,
        "score_kind": one.score_kind,
        "group_id": one.group_id,
        "error": one.error,
        "created_at": one.created_at.isoformat(),
        "finished_at": None if one.finished_at is None else one.finished_at.isoformat(),
    }
