"""Export a run as one file: `python main.py export`."""

from collections.abc import Sequence
from pathlib import Path

from app.cli.console import say, size
from app.cli.parsing import RUN_HELP, make_parser, settings_from
from app.cli.reading import lab_to_read
from app.core import InputError, SentenceParser
from app.sharing.bundle import write_bundle
from storage import RunNotFoundError
from storage.database import events, runs


def run(arguments: Sequence[str]) -> int:
    """Write the bundle and return the exit code."""
    options = _parser().parse_args(arguments)
    settings = settings_from(options)
    target = Path(options.to)
    _check(target, may_replace=options.force)
    with lab_to_read(settings) as exists:
        if not exists:
            raise RunNotFoundError(options.run)
        chosen = runs.find_run(options.run)
        log = events.all_events(chosen.id)
    try:
        names = write_bundle(target, chosen, settings.runs_folder.run(chosen.id), log)
    except OSError as error:
        raise InputError(f"--to {target} can't be written: {error.strerror}.") from error
    say(f"{chosen.name}, run {chosen.id}: {', '.join(names)}")
    say(f"Wrote {target} ({size(target.stat().st_size)}).")
    return 0


def _parser() -> SentenceParser:
    parser = make_parser(
        "export",
        "Export a run as a zip: configuration, metrics, models, newest checkpoint, evaluations, "
        "event log, and a manifest with checksums. Works while a server uses the folder, too.",
        "latest --to bundle.zip",
    )
    parser.add_argument("run", metavar="RUN", help=RUN_HELP)
    parser.add_argument("--to", metavar="FILE", required=True, help="the zip to write")
    parser.add_argument("--force", action="store_true", help="replace the file if it exists")
    return parser


def _check(target: Path, *, may_replace: bool) -> None:
    if target.is_dir():
        raise InputError(f"--to must be a file, {target} is a folder.")
    if not target.absolute().parent.is_dir():
        raise InputError(f"--to {target} can't be written: its folder doesn't exist.")
    if target.exists() and not may_replace:
        raise InputError(f"{target} exists. Choose another name, or replace it with --force.")
