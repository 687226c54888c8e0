"""Evaluate a run's policy: `python main.py evaluate`."""

import argparse
import asyncio
import sys
from collections.abc import Callable, Sequence

from app.accounts import NO_ACCOUNTS
from app.cli.code import check_may_give_code, read_code
from app.cli.console import number, say
from app.cli.parsing import RUN_HELP, make_parser, read_value, settings_from
from app.cli.progress import bar
from app.core import InputError, SentenceParser
from app.evaluation import EPISODES, Evaluation, EvaluationError, EvaluationRequest
from app.lab import Lab
from app.protocol import SeedFamily
from app.runs import BEST

_FAILED = 1


def run(arguments: Sequence[str]) -> int:
    """Evaluate the run in the arguments and return the exit code."""
    options = _parser().parse_args(arguments)
    request = _request(options)
    return asyncio.run(_evaluate(Lab(settings_from(options)), options.run, request))


def _parser() -> SentenceParser:
    parser = make_parser(
        "evaluate",
        "Evaluate a run's policy over complete episodes, without the disturbances of its training "
        "unless they are asked for. The same run, checkpoint and seed give the same returns.",
        "latest --episodes 10",
        "3f2a --checkpoint best --stochastic",
        "latest --code metrics.py",
    )
    parser.add_argument("run", metavar="RUN", help=RUN_HELP)
    parser.add_argument("--episodes", metavar="N", help=f"number of episodes (default: {EPISODES})")
    parser.add_argument(
        "--seed",
        metavar="S",
        help="seed of the first episode; the next ones count up",
    )
    parser.add_argument(
        "--stochastic", action="store_true", help="sample actions instead of taking the most likely"
    )
    parser.add_argument(
        "--final",
        action="store_true",
        help="use the final seeds, the same for every run: the mean is the score of the run",
    )
    parser.add_argument(
        "--disturbances",
        action="store_true",
        help="keep the noise and the randomization of training: measures robustness",
    )
    parser.add_argument("--checkpoint", metavar="STEP|best", help="(default: the final policy)")
    parser.add_argument("--record", action="store_true", help="save a video (MP4) with the run")
    parser.add_argument(
        "--code",
        metavar="FILE",
        help="also compute the metrics of evaluate(episode) in this file (.py)",
    )
    return parser


def _request(options: argparse.Namespace) -> EvaluationRequest:
    typed = {"episodes": options.episodes, "seed": options.seed, "checkpoint": options.checkpoint}
    values = {name: read_value(text) for name, text in typed.items() if text is not None}
    code = options.code and read_code("--code", options.code)
    if options.final and options.seed is not None:
        raise InputError("--final and --seed exclude each other. Leave one out.", field="--seed")
    return EvaluationRequest(
        deterministic=not options.stochastic,
        disturbances=options.disturbances,
        seed_family=SeedFamily.FINAL if options.final else SeedFamily.TEST,
        record=options.record,
        code=code,
        **values,
    )


async def _evaluate(lab: Lab, key: str, request: EvaluationRequest) -> int:
    try:
        access = lab.access_for(NO_ACCOUNTS)
        run = await access.find(key)
        if request.code is not None:
            await check_may_give_code(lab, "code")
        say(f"{run.name}, run {run.id}")
        await lab.open_for_one_command()
        # Who starts the program isn't limited by the disk quota of the run's owner.
        evaluable = await access.evaluable(run.id, code=request.code)
        evaluation = await lab.evaluations.evaluate(
            evaluable, request, on_progress=_progress_bar(request.episodes)
        )
    except EvaluationError as error:
        sys.stderr.write(f"{error}\n")
        return _FAILED
    finally:
        await lab.close()
    say(_describe(evaluation))
    return 0


def _progress_bar(episodes: int) -> Callable[[int], None]:
    """Return a function that draws the progress on a terminal, and does nothing elsewhere."""

    def show(played: int) -> None:
        end = "\n" if played == episodes else ""
        sys.stdout.write(f"\r{bar(played / episodes)} {played} of {episodes} episodes{end}")
        sys.stdout.flush()

    return show if sys.stdout.isatty() else lambda _: None


def _describe(evaluation: Evaluation) -> str:
    family = f"{evaluation.seed_family} " if evaluation.seed_family else ""
    seeds = f"{family}seeds from {evaluation.seeds[0]:,}"
    how = "" if evaluation.deterministic else ", sampled actions"
    trained = "" if evaluation.timesteps is None else f" after {evaluation.timesteps:,} steps"
    policy = "best policy" if evaluation.checkpoint == BEST else f"policy{trained}"
    ends = (number(one, 2) for one in evaluation.ci95 or ())
    cut = (evaluation.terminations or {}).get("truncated", 0)
    lines = [
        f"{evaluation.episodes} episodes of the {policy}, {seeds}{how}:",
        f"  mean return   {number(evaluation.mean_return, 2)}",
        f"  std (n - 1)   {number(evaluation.std_return, 2)}",
        f"  median        {number(evaluation.median_return, 2)}",
        f"  95 % interval {' to '.join(ends) or 'none: too few or equal returns'}",
        f"  min, max      {number(evaluation.min, 2)}, {number(evaluation.max, 2)}",
        f"  mean length   {number(evaluation.mean_length)} steps",
        f"  time limit    ended {cut} of {evaluation.episodes} episodes",
    ]
    if evaluation.cut_in_words is not None:
        lines.append(f"  step limit    {evaluation.cut_in_words}")
    lines += [f"  {name:<13} {number(mean, 2)}" for name, mean in (evaluation.custom or {}).items()]
    if evaluation.success_rate is not None:
        lines.append(f"  success rate  {evaluation.success_rate:.0%}")
    if evaluation.left_out:
        names = ", ".join(name.replace("_", " ") for name in evaluation.left_out)
        lines.append(f"  left out      {names} (part of the training only)")
    if evaluation.video is not None:
        lines.append(f"  video         {evaluation.video.seconds:.1f} s, saved with the run")
    if evaluation.video_note is not None:
        lines.append(f"  video         {evaluation.video_note}")
    return "\n".join(lines)
