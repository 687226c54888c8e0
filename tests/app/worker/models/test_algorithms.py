"""Every algorithm really trains, reports, is shown, and goes on after a stop."""

import asyncio
import io
from typing import Any

import msgspec
import pytest
import sb3_contrib
import stable_baselines3

from app.catalog.algorithms.catalogue import CATALOGUE
from app.catalog.environments.spec import ActionKind
from app.protocol import commands, messages
from app.run_config.config import RunConfig, RunRequest
from app.workers.local_worker import HandedOut, LocalWorker, Piece, Received, Shown

pytestmark = pytest.mark.slow

SMALL: dict[str, dict[str, Any]] = {
    "PPO": {"n_steps": 64, "n_epochs": 2},
    "A2C": {},
    "TRPO": {"n_steps": 64},
    "DQN": {"learning_starts": 100},
    "QRDQN": {"learning_starts": 100},
    "SAC": {"learning_starts": 100, "batch_size": 32},
    "TD3": {"learning_starts": 100, "batch_size": 32},
    "TQC": {"learning_starts": 100, "batch_size": 32},
    "RecurrentPPO": {"n_steps": 64, "n_epochs": 2, "lstm_hidden_size": 8},
    "MaskablePPO": {"n_steps": 64, "n_epochs": 2},
    "ARS": {"n_delta": 2},
    "CrossQ": {"learning_starts": 100, "batch_size": 32},
}


def job(algorithm: str, total_timesteps: int, *, resume: bool = False) -> commands.Train:
    kinds = CATALOGUE[algorithm].action_kinds
    request = RunRequest(
        env_id="CartPole-v1" if ActionKind.DISCRETE in kinds else "Pendulum-v1",
        algorithm=algorithm,
        total_timesteps=total_timesteps,
        seed=1,
        hyperparameters={**SMALL[algorithm], "net_arch": [8], "learning_rate": "1e-3 -> 0"},
    )
    return msgspec.structs.replace(RunConfig.from_request(request).job(), resume=resume)


async def start() -> LocalWorker:
    worker = LocalWorker(memory_mb=2_048)
    await worker.start()
    return worker


async def hear_to_the_end(worker: LocalWorker) -> list[Received]:
    heard: list[Received] = []
    while not isinstance(heard[-1] if heard else None, messages.Finished | messages.Failed):
        heard.append(await worker.receive())
    await worker.wait()
    return heard


def file_of(heard: list[Received], name: str) -> bytes:
    pieces = [said for said in heard if isinstance(said, Piece) and said.header.name == name]
    return b"".join(piece.content for piece in pieces)


def load(algorithm: str, content: bytes) -> Any:
    library = stable_baselines3 if hasattr(stable_baselines3, algorithm) else sb3_contrib
    return getattr(library, algorithm).load(io.BytesIO(content))


@pytest.mark.parametrize("algorithm", CATALOGUE)
async def test_an_algorithm_trains_and_reports(algorithm: str) -> None:
    worker = await start()
    worker.send(messages.encode(job(algorithm, 700)))

    heard = await hear_to_the_end(worker)

    assert heard[-1] == messages.Finished(reason="budget"), heard[-1]
    assert load(algorithm, file_of(heard, "model.zip")).num_timesteps >= 700
    measured = [said.lines for said in heard if isinstance(said, messages.Measured)]
    lines = [line.flat() for batch in measured for line in batch]
    assert any("learning_rate" in line for line in lines)
    assert algorithm == "ARS" or any("loss" in line and "grad_norm" in line for line in lines)
    assert any("reward" in line and line["agents"]["agent"]["length"] > 0 for line in lines)


@pytest.mark.parametrize("algorithm", ["RecurrentPPO", "MaskablePPO", "SAC"])
async def test_a_policy_is_shown_and_judged_and_its_run_goes_on(algorithm: str) -> None:
    worker, viewer, judge, again = await asyncio.gather(start(), start(), start(), start())
    order = job(algorithm, 700)
    worker.send(messages.encode(order) + messages.encode(commands.Watch(on=True)))
    heard = await hear_to_the_end(worker)
    weights = next(said for said in heard if isinstance(said, HandedOut))

    viewer.send(messages.encode(commands.View(setup=order.setup, fps=15)) + weights.frame)
    judge.send(messages.encode(commands.Evaluate(setup=order.setup, episodes=2, seed=1)))
    judge.send(weights.frame)
    again.send(messages.encode(job(algorithm, 1_000, resume=True)))
    await again.send_file("checkpoint.zip", file_of(heard, "checkpoint.zip"))
    shown, judged, went_on = await asyncio.gather(
        viewer.receive(), judge.receive(), hear_to_the_end(again)
    )
    for helper in (viewer, judge):
        helper.kill()
        await helper.wait()

    assert isinstance(shown, Shown)
    assert isinstance(judged, messages.Evaluated)
    assert len(judged.returns) == 2
    assert went_on[-1] == messages.Finished(reason="budget"), went_on[-1]
    started = next(said for said in went_on if isinstance(said, messages.Started))
    assert started.timesteps >= 700
    assert load(algorithm, file_of(went_on, "model.zip")).num_timesteps >= 1_000
