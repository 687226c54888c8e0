"""Every algorithm really trains, reports, is shown, and goes on after a stop."""

import asyncio
import io
from typing import Any

import pytest
import sb3_contrib
import stable_baselines3

from app.algorithms.catalogue import CATALOGUE
from app.environments.spec import ActionKind
from app.training.backend import HandedOut, LocalWorker, Piece, Received, Shown
from app.training.config import RunConfig, RunRequest
from app.worker import messages

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
    "CrossQ": {"learning_starts": 100, "batch_size": 32},
}


def job(algorithm: str, total_timesteps: int, *, resume: bool = False) -> messages.Train:
    kinds = CATALOGUE[algorithm].action_kinds
    request = RunRequest(
        env_id="CartPole-v1" if ActionKind.DISCRETE in kinds else "Pendulum-v1",
        algorithm=algorithm,
        total_timesteps=total_timesteps,
        seed=1,
        hyperparameters={**SMALL[algorithm], "net_arch": [8]},
    )
    return messages.Train(**RunConfig.from_request(request).model_dump(), resume=resume)


async def start() -> LocalWorker:
    worker = LocalWorker(memory_mb=2_048)
    await worker.start("learner")
    assert isinstance(await worker.receive(), messages.Ready)
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
async def test_an_algorithm_trains_is_shown_and_goes_on(algorithm: str) -> None:
    worker, viewer, again = await asyncio.gather(start(), start(), start())
    order = job(algorithm, 700)
    worker.send(messages.encode(order) + messages.encode(messages.Watch(on=True)))

    heard = await hear_to_the_end(worker)

    assert heard[-1] == messages.Finished(reason="budget"), heard[-1]
    assert load(algorithm, file_of(heard, "model.zip")).num_timesteps >= 700
    measured = [said.lines for said in heard if isinstance(said, messages.Measured)]
    lines = [line.flat() for batch in measured for line in batch]
    assert any("loss" in line for line in lines)
    assert any("reward" in line for line in lines)

    weights = next(said for said in heard if isinstance(said, HandedOut))
    view = messages.View(
        env_id=order.env_id,
        algorithm=algorithm,
        hyperparameters=order.hyperparameters,
        fps=15,
    )
    viewer.send(messages.encode(view) + weights.frame)
    assert isinstance(await viewer.receive(), Shown)
    viewer.kill()
    await viewer.wait()

    again.send(messages.encode(job(algorithm, 1_000, resume=True)))
    await again.send_file("checkpoint.zip", file_of(heard, "checkpoint.zip"))
    went_on = await hear_to_the_end(again)

    assert went_on[-1] == messages.Finished(reason="budget"), went_on[-1]
    started = next(said for said in went_on if isinstance(said, messages.Started))
    assert started.timesteps >= 700
    assert load(algorithm, file_of(went_on, "model.zip")).num_timesteps >= 1_000
