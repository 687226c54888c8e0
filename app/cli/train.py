"""Train without a web page: `python main.py train`."""

import argparse
import asyncio
from collections.abc import Sequence
from typing import Any

from pydantic import ValidationError

from app.access import Access
from app.accounts import NO_ACCOUNTS
from app.catalog.algorithms import DEFAULT_ALGORITHM
from app.cli.code import check_may_give_code, read_code
from app.cli.console import say
from app.cli.interrupts import Interrupts
from app.cli.parsing import make_parser, read_pairs, read_value, settings_from
from app.cli.progress import show_progress
from app.cli.summary import summary
from app.core import InputError, SentenceParser, input_error
from app.lab import Lab
from app.run_config import WRAPPER_OPTIONS, RunRequest, seed_of
from app.runs import RunService
from app.runs.state import RunFeed
from storage.records import RunRecord, RunStatus

_FAILED = 1


def run(arguments: Sequence[str]) -> int:
    """Train the run or runs in the arguments and return the exit code."""
    options = _parser().parse_args(arguments)
    request = _request(options)
    # Each run starts its own worker; an idle one would only cost memory.
    return asyncio.run(_train(Lab(settings_from(options)), request))


def _parser() -> SentenceParser:
    parser = make_parser(
        "train",
        "Train an agent, show its progress, and save its model. Ctrl-C stops the training and "
        "saves the model.",
        "CartPole-v1 --algorithm ppo --preset fast --seeds 3",
        "Pendulum-v1 --algorithm sac --set learning_rate=1e-3 --set net_arch=64,64",
    )
    parser.add_argument("environment", metavar="ENVIRONMENT", help="such as CartPole-v1")
    parser.add_argument(
        "--algorithm", default=DEFAULT_ALGORITHM.id, help="such as ppo (the default), dqn, sac"
    )
    parser.add_argument(
        "--preset", help="preset to start from: fast, stable, high_score, sb3_defaults or rl_zoo"
    )
    parser.add_argument("--timesteps", metavar="N", help="the budget (default: the preset's)")
    parser.add_argument("--seed", metavar="S", help="random seed (default: random)")
    parser.add_argument("--seeds", metavar="N", help="number of runs, or a seed for each: 1,2,3")
    parser.add_argument("--n-envs", metavar="N", help="number of parallel environments")
    _add_pairs(parser, "--set", "a hyperparameter, such as learning_rate=1e-3 or net_arch=64,64")
    _add_pairs(parser, "--wrapper", "a wrapper, such as normalize_reward=true")
    _add_pairs(parser, "--env-arg", "an argument of the environment, such as gravity=-9")
    parser.add_argument("--stop-when-solved", action="store_true", help="stop early when solved")
    parser.add_argument("--evaluate-every", metavar="N", help="evaluate every so many steps")
    parser.add_argument("--init-from", metavar="RUN", help="start with a run's policy: RUN[@STEP]")
    parser.add_argument("--reward", metavar="FILE", help="train on this reward function (.py)")
    parser.add_argument("--engine", help="training engine: auto (the default), fast or sb3")
    parser.add_argument("--name", help="name of the run")
    parser.add_argument("--workers", metavar="N", help="runs that may train concurrently")
    return parser


def _add_pairs(parser: SentenceParser, flag: str, help_text: str) -> None:
    parser.add_argument(flag, action="append", default=[], metavar="NAME=VALUE", help=help_text)


def _request(options: argparse.Namespace) -> RunRequest:
    typed = {
        "total_timesteps": options.timesteps,
        "seed": options.seed,
        "seeds": options.seeds,
        "n_envs": options.n_envs,
        "evaluate_every": options.evaluate_every,
    }
    values: dict[str, Any] = {
        **{name: read_value(text) for name, text in typed.items() if text is not None},
        "preset": options.preset and options.preset.replace("-", "_"),
        "hyperparameters": read_pairs("--set", options.set),
        "wrappers": _wrappers(options.wrapper),
        "env_kwargs": read_pairs("--env-arg", options.env_arg),
        "stop_when_solved": options.stop_when_solved,
        "init_from": options.init_from,
        "reward_code": options.reward and read_code("--reward", options.reward),
        "name": options.name,
        **({"engine": options.engine} if options.engine else {}),
    }
    try:
        return RunRequest(env_id=options.environment, algorithm=options.algorithm, **values)
    except ValidationError as error:
        raise input_error(error.errors()) from None


def _wrappers(typed: Sequence[str]) -> dict[str, Any]:
    pairs = read_pairs("--wrapper", typed)
    known = [*(option.name for option in WRAPPER_OPTIONS), "randomize"]
    for name in pairs:
        if name not in known:
            names = ", ".join(known)
            raise InputError(f"--wrapper {name[:80]} doesn't exist. Choose one of: {names}.")
    return pairs


async def _train(lab: Lab, request: RunRequest) -> int:
    try:
        # First, so that invalid requests fail without waiting.
        if request.reward_code is not None:
            await check_may_give_code(lab, "reward_code")
        access = lab.access_for(NO_ACCOUNTS)
        made = await _create(access, request)
        for run in made:
            seed = "" if request.seeds else f", seed {seed_of(run)}"
            say(f"{run.name}{seed}: {run.id}")
        feeds = [await lab.runs.feed(access.see(run)) for run in made]
        with Interrupts(lambda: _stop(lab.runs, access, feeds)) as interrupts:
            await lab.open_for_one_command()
            for run in made:
                if not interrupts.code:
                    async with access.changing(run.id, "run_started", trains=True) as waiting:
                        await lab.runs.start(waiting)
            await show_progress(feeds, lambda: interrupts.note)
    finally:
        await lab.close()
    ended = [feed.run for feed in feeds]
    say(summary(ended))
    return interrupts.code or _exit_code(ended)


async def _create(access: Access, request: RunRequest) -> Sequence[RunRecord]:
    if request.init_from is not None:
        key, at, step = request.init_from.partition("@")
        source = await access.find(key)
        request = request.model_copy(update={"init_from": f"{source.id}{at}{step}"})
    return await access.create(request)


async def _stop(runs: RunService, access: Access, feeds: Sequence[RunFeed]) -> None:
    # In reverse, so that waiting runs don't start when an earlier one ends.
    for feed in reversed(feeds):
        if not feed.run.status.is_over:
            async with access.changing(feed.run.id, "run_stopped") as run:
                await runs.stop(run)


def _exit_code(ended: Sequence[RunRecord]) -> int:
    return 0 if all(run.status is RunStatus.COMPLETED for run in ended) else _FAILED
