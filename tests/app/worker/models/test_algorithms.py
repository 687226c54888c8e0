"""Every algorithm trains and reports; policies can be viewed and evaluated, and runs resumed."""

import asyncio
import io
from typing import Any

import msgspec
import pytest
import sb3_contrib
import stable_baselines3

from app.catalog.algorithms.catalogue import ALGORITHMS
from app.catalog.environments.spec import ActionKind
from app.protocol import commands, messages
from app.run_config.config import RunConfig
from app.run_config.request import RunRequest
from app.workers.local_worker import LocalWorker
from app.workers.worker import PackedPolicy, Piece, Received, RenderedFrame

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
    kinds = ALGORITHMS[algorithm].action_kinds
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


async def receive_all(worker: LocalWorker) -> list[Received]:
    received: list[Received] = []
    while not isinstance(received[-1] if received else None, messages.Finished | messages.Failed):
        received.append(await worker.receive())
    await worker.wait()
    return received


def file_of(received: list[Received], name: str) -> bytes:
    pieces = [
        message
        for message in received
        if isinstance(message, Piece) and message.header.name == name
    ]
    return b"".join(piece.content for piece in pieces)


def load(algorithm: str, content: bytes) -> Any:
    library = stable_baselines3 if hasattr(stable_baselines3, algorithm) else sb3_contrib
    return getattr(library, algorithm).load(io.BytesIO(content))


@pytest.mark.parametrize("algorithm", ALGORITHMS)
async def test_every_algorithm_trains_and_reports(algorithm: str) -> None:
    worker = await start()
    worker.send(messages.encode(job(algorithm, 700)))

    received = await receive_all(worker)

    assert received[-1] == messages.Finished(reason="budget"), received[-1]
    assert load(algorithm, file_of(received, "model.zip")).num_timesteps >= 700
    measured = [message.lines for message in received if isinstance(message, messages.Measured)]
    lines = [line.flat() for batch in measured for line in batch]
    assert any("learning_rate" in line for line in lines)
    assert algorithm == "ARS" or any("loss" in line and "grad_norm" in line for line in lines)
    assert any("reward" in line and line["agents"]["agent"]["length"] > 0 for line in lines)


@pytest.mark.parametrize("algorithm", ["RecurrentPPO", "MaskablePPO", "SAC"])
async def test_a_policy_is_viewed_and_evaluated_and_its_run_resumes(algorithm: str) -> None:
    worker, viewer, evaluator, resumed = await asyncio.gather(start(), start(), start(), start())
    run_job = job(algorithm, 700)
    worker.send(messages.encode(run_job) + messages.encode(commands.Watch(on=True)))
    received = await receive_all(worker)
    weights = next(message for message in received if isinstance(message, PackedPolicy))

    viewer.send(messages.encode(commands.View(setup=run_job.setup, fps=15)) + weights.frame)
    evaluator.send(messages.encode(commands.Evaluate(setup=run_job.setup)))
    evaluator.send(messages.encode(commands.Episodes(count=2, seed=1)) + weights.frame)
    resumed.send(messages.encode(job(algorithm, 1_000, resume=True)))
    await resumed.send_file("checkpoint.zip", file_of(received, "checkpoint.zip"))
    frame, evaluated, resumed_messages = await asyncio.gather(
        viewer.receive(), evaluator.receive(), receive_all(resumed)
    )
    for side_worker in (viewer, evaluator):
        side_worker.kill()
        await side_worker.wait()

    assert isinstance(frame, RenderedFrame)
    assert isinstance(evaluated, messages.Evaluated)
    assert len(evaluated.returns) == 2
    assert resumed_messages[-1] == messages.Finished(reason="budget"), resumed_messages[-1]
    started = next(message for message in resumed_messages if isinstance(message, messages.Started))
    assert started.timesteps >= 700
    assert load(algorithm, file_of(resumed_messages, "model.zip")).num_timesteps >= 1_000
