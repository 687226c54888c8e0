"""Say what a run's policy is worth: `python main.py evaluate`."""

import argparse
import asyncio
import sys
from collections.abc import Callable, Sequence

from app.cli.code import check_may_give_code, read_code
from app.cli.console import number, say
from app.cli.parsing import RUN_HELP, make_parser, read_value, settings_from
from app.cli.progress import bar
from app.core.settings import SentenceParser
from app.evaluation.evaluation import EPISODES, Evaluation, EvaluationOptions
from app.evaluation.service import EvaluationError
from app.lab import Lab
from app.runs.stored_policies import BEST

_FAILED = 1


def run(arguments: Sequence[str]) -> int:
    """Evaluate what the arguments ask for and return the exit code."""
    given = _parser().parse_args(arguments)
    judging = _judging(given)
    return asyncio.run(_evaluate(Lab(settings_from(given)), given.run, judging))


def _parser() -> SentenceParser:
    parser = make_parser(
        "evaluate",
        "Play whole episodes with a run's policy, without what made its training harder, and say "
        "what they brought. The same run, checkpoint and seed give the same returns.",
        "latest --episodes 10",
        "3f2a --checkpoint best --stochastic",
        "latest --code judge.py",
    )
    parser.add_argument("run", metavar="RUN", help=RUN_HELP)
    parser.add_argument("--episodes", metavar="N", help=f"how many (default: {EPISODES})")
    parser.add_argument("--seed", metavar="S", help="of the first episode; the next ones count up")
    parser.add_argument(
        "--stochastic", action="store_true", help="draw actions instead of taking the likeliest"
    )
    parser.add_argument("--checkpoint", metavar="STEP|best", help="(default: the final policy)")
    parser.add_argument(
        "--record", action="store_true", help="keep a video of it (MP4) with the run"
    )
    parser.add_argument(
        "--code", metavar="FILE", help="judge episodes by evaluate(episode) of this file (.py), too"
    )
    return parser


def _judging(given: argparse.Namespace) -> EvaluationOptions:
    typed = {"episodes": given.episodes, "seed": given.seed, "checkpoint": given.checkpoint}
    values = {name: read_value(text) for name, text in typed.items() if text is not None}
    code = given.code and read_code("--code", given.code)
    return EvaluationOptions(
        deterministic=not given.stochastic, record=given.record, code=code, **values
    )


async def _evaluate(lab: Lab, beginning: str, judging: EvaluationOptions) -> int:
    try:
        run = await lab.trainer.find(beginning)
        if judging.code is not None:
            await check_may_give_code(lab, "code")
        say(f"{run.name}, run {run.id}")
        await lab.open_for_one_command()
        found = await lab.evaluations.evaluate(run.id, judging, told=_teller(judging.episodes))
    except EvaluationError as error:
        sys.stderr.write(f"{error}\n")
        return _FAILED
    finally:
        await lab.close()
    say(_describe(found))
    return 0


def _teller(episodes: int) -> Callable[[int], None]:
    """Return who shows the progress in place on a terminal; elsewhere nobody does."""

    def tell(played: int) -> None:
        end = "\n" if played == episodes else ""
        sys.stdout.write(f"\r{bar(played / episodes)} {played} of {episodes} episodes{end}")
        sys.stdout.flush()

    return tell if sys.stdout.isatty() else lambda _: None


def _describe(found: Evaluation) -> str:
    how = "" if found.deterministic else ", actions drawn"
    trained = "" if found.timesteps is None else f" after {found.timesteps:,} steps"
    policy = "best policy" if found.checkpoint == BEST else f"policy{trained}"
    low, high = found.ci95 or (None, None)
    cut = (found.terminations or {}).get("truncated", 0)
    lines = [
        f"{found.episodes} episodes of the {policy}, seeds from {found.seeds[0]:,}{how}:",
        f"  mean return   {number(found.mean_return, 2)}",
        f"  std (n - 1)   {number(found.std_return, 2)}",
        f"  median        {number(found.median_return, 2)}",
        f"  95 % interval {number(low, 2)} to {number(high, 2)}",
        f"  min, max      {number(found.min, 2)}, {number(found.max, 2)}",
        f"  mean length   {number(found.mean_length)} steps",
        f"  time limit    ended {cut} of {found.episodes} episodes",
    ]
    lines += [f"  {name:<13} {number(mean, 2)}" for name, mean in (found.custom or {}).items()]
    if found.left_out:
        names = ", ".join(name.replace("_", " ") for name in found.left_out)
        lines.append(f"  left out      {names} (part of the training only)")
    if found.video is not None:
        lines.append(f"  video         {found.video.seconds:.1f} s, kept with the run")
    if found.video_note is not None:
        lines.append(f"  video         {found.video_note}")
    return "\n".join(lines)
