"""Train without a web page: `python main.py train`."""

import argparse
import asyncio
from collections.abc import Sequence
from typing import Any

from pydantic import ValidationError

from app.cli.code import check_may_give_code, read_code
from app.cli.console import say
from app.cli.interrupts import Interrupts
from app.cli.parsing import make_parser, read_pairs, read_value, settings_from
from app.cli.progress import show_progress
from app.cli.summary import summary
from app.core.errors import InputError, explain
from app.core.settings import SentenceParser
from app.lab import Lab
from app.run_config.config import RunRequest
from app.run_config.wrapper_options import OPTIONS
from app.runs.service import RunService
from app.runs.state.feed import RunFeed
from storage.records.runs import RunRecord, RunStatus

_FAILED = 1


def run(arguments: Sequence[str]) -> int:
    """Train what the arguments ask for and return the exit code."""
    given = _parser().parse_args(arguments)
    request = _request(given)
    # Each run starts its own worker; one kept ready beside it would only cost memory.
    return asyncio.run(_train(Lab(settings_from(given)), request))


def _parser() -> SentenceParser:
    parser = make_parser(
        "train",
        "Train an agent, show how far it has come, and keep its model. Ctrl-C stops the training "
        "and keeps the model.",
        "CartPole-v1 --algorithm ppo --preset fast --seeds 3",
        "Pendulum-v1 --algorithm sac --set learning_rate=1e-3 --set net_arch=64,64",
    )
    parser.add_argument("environment", metavar="ENVIRONMENT", help="such as CartPole-v1")
    parser.add_argument("--algorithm", default="PPO", help="such as ppo (the default), dqn, sac")
    parser.add_argument("--preset", help="values to begin with: fast, stable or high_score")
    parser.add_argument("--timesteps", metavar="N", help="the budget (default: the preset's)")
    parser.add_argument("--seed", metavar="S", help="what chance depends on (default: any)")
    parser.add_argument("--seeds", metavar="N", help="number of runs, or a seed for each: 1,2,3")
    parser.add_argument("--n-envs", metavar="N", help="environments played in parallel")
    _add_pairs(parser, "--set", "a hyperparameter, such as learning_rate=1e-3 or net_arch=64,64")
    _add_pairs(parser, "--wrapper", "a wrapper, such as normalize_reward=true")
    _add_pairs(parser, "--env-arg", "an argument of the environment, such as gravity=-9")
    parser.add_argument("--stop-when-solved", action="store_true", help="end early if solved")
    parser.add_argument("--evaluate-every", metavar="N", help="evaluate after so many steps")
    parser.add_argument("--init-from", metavar="RUN", help="begin with a run's policy: RUN[@STEP]")
    parser.add_argument("--reward", metavar="FILE", help="learn from this reward function (.py)")
    parser.add_argument("--engine", help="what trains: auto (the default), fast or sb3")
    parser.add_argument("--name", help="what to call it")
    parser.add_argument("--workers", metavar="N", help="runs that may train at once")
    return parser


def _add_pairs(parser: SentenceParser, flag: str, help_text: str) -> None:
    parser.add_argument(flag, action="append", default=[], metavar="NAME=VALUE", help=help_text)


def _request(given: argparse.Namespace) -> RunRequest:
    typed = {
        "total_timesteps": given.timesteps,
        "seed": given.seed,
        "seeds": given.seeds,
        "n_envs": given.n_envs,
        "evaluate_every": given.evaluate_every,
    }
    wishes: dict[str, Any] = {
        **{name: read_value(text) for name, text in typed.items() if text is not None},
        "preset": given.preset and given.preset.replace("-", "_"),
        "hyperparameters": read_pairs("--set", given.set),
        "wrappers": _wrappers(given.wrapper),
        "env_kwargs": read_pairs("--env-arg", given.env_arg),
        "stop_when_solved": given.stop_when_solved,
        "init_from": given.init_from,
        "reward_code": given.reward and read_code("--reward", given.reward),
        "name": given.name,
        **({"engine": given.engine} if given.engine else {}),
    }
    try:
        return RunRequest(env_id=given.environment, algorithm=given.algorithm, **wishes)
    except ValidationError as error:
        raise explain(error.errors()) from None


def _wrappers(typed: Sequence[str]) -> dict[str, Any]:
    pairs = read_pairs("--wrapper", typed)
    known = [*(option.name for option in OPTIONS), "randomize"]
    for name in pairs:
        if name not in known:
            there = ", ".join(known)
            raise InputError(f"--wrapper {name[:80]} doesn't exist. Choose one of: {there}.")
    return pairs


async def _train(lab: Lab, request: RunRequest) -> int:
    try:
        # First: what can't be trained is refused before anything is waited for.
        if request.reward_code is not None:
            await check_may_give_code(lab, "reward_code")
        made = await _create(lab.trainer, request)
        for run in made:
            seed = "" if request.seeds else f", seed {run.config['seed']}"
            say(f"{run.name}{seed}: {run.id}")
        feeds = [await lab.trainer.feed(run.id) for run in made]
        with Interrupts(lambda: _stop(lab.trainer, feeds)) as interrupts:
            await lab.open_for_one_command()
            for run in made:
                if not interrupts.code:
                    await lab.trainer.start(run.id)
            await show_progress(feeds, lambda: interrupts.note)
    finally:
        await lab.close()
    ended = [feed.run for feed in feeds]
    say(summary(ended))
    return interrupts.code or _exit_code(ended)


async def _create(trainer: RunService, request: RunRequest) -> Sequence[RunRecord]:
    if request.init_from is not None:
        beginning, at, step = request.init_from.partition("@")
        source = await trainer.find(beginning)
        request = request.model_copy(update={"init_from": f"{source.id}{at}{step}"})
    if request.seeds is not None:
        return await trainer.create_group(request)
    return [await trainer.create(request)]


async def _stop(trainer: RunService, feeds: Sequence[RunFeed]) -> None:
    # The last first: those that wait mustn't take the place of one that ends.
    for feed in reversed(feeds):
        if not feed.run.status.is_over:
            await trainer.stop(feed.run.id)


def _exit_code(ended: Sequence[RunRecord]) -> int:
    return 0 if all(run.status is RunStatus.COMPLETED for run in ended) else _FAILED
