import asyncio
import io
from collections.abc import AsyncIterator
from typing import Any

import gymnasium as gym
import msgspec
import numpy as np
import pytest
from stable_baselines3 import DQN, PPO

from app.protocol import commands, framing, messages
from app.run_config.config import RunConfig, RunRequest
from app.worker.envs.vectorized.pipeline import make_training_envs
from app.workers.errors import ProtocolError, WorkerGoneError
from app.workers.local_worker import HandedOut, LocalWorker, Piece, Received, Shown

pytestmark = pytest.mark.slow

SMALL = {"n_steps": 64, "batch_size": 64, "n_epochs": 2, "net_arch": [8]}


def job(**wishes: Any) -> commands.Train:
    request = {"env_id": "CartPole-v1", "algorithm": "PPO", "total_timesteps": 1_500, **wishes}
    config = RunConfig.from_request(RunRequest.model_validate(request))
    return config.job()


@pytest.fixture
async def worker() -> AsyncIterator[LocalWorker]:
    started = LocalWorker(memory_mb=2_048)
    await started.start()
    yield started
    started.kill()
    await started.wait()


async def hear_to_the_end(worker: LocalWorker) -> list[Received]:
    heard: list[Received] = []
    while not isinstance(heard[-1] if heard else None, messages.Finished | messages.Failed):
        heard.append(await worker.receive())
    return heard


def model_of(heard: list[Received]) -> bytes:
    pieces = [said for said in heard if isinstance(said, Piece)]
    return b"".join(piece.content for piece in pieces if piece.header.name == "model.zip")


def lines_of(heard: list[Received]) -> list[dict[str, Any]]:
    batches = [said.lines for said in heard if isinstance(said, messages.Measured)]
    return [line.flat() for batch in batches for line in batch]


async def test_a_model_trained_in_the_sandbox_is_read_by_plain_ppo(worker: LocalWorker) -> None:
    worker.send(messages.encode(job(hyperparameters=SMALL)))

    heard = await hear_to_the_end(worker)

    assert heard[-1] == messages.Finished(reason="budget")
    model = PPO.load(io.BytesIO(model_of(heard)))
    action, _ = model.predict(gym.make("CartPole-v1").reset(seed=1)[0])
    assert action in (0, 1)
    assert model.num_timesteps >= 1_500


async def test_a_dqn_is_read_by_plain_dqn(worker: LocalWorker) -> None:
    worker.send(messages.encode(job(algorithm="DQN", hyperparameters={"learning_starts": 100})))

    heard = await hear_to_the_end(worker)

    assert DQN.load(io.BytesIO(model_of(heard))).num_timesteps >= 1_500
    losses = [line["loss"] for line in lines_of(heard) if "loss" in line]
    assert losses
    assert all(isinstance(loss, float) for loss in losses)


async def test_metrics_tell_of_episodes_and_updates(worker: LocalWorker) -> None:
    worker.send(messages.encode(job(hyperparameters=SMALL)))

    lines = lines_of(await hear_to_the_end(worker))

    episodes = [line for line in lines if "reward" in line]
    updates = [line for line in lines if "loss" in line]
    assert [line["episode"] for line in episodes] == list(range(1, len(episodes) + 1))
    assert all(line["reward"] == line["episode_length"] for line in episodes)
    # Updates that come faster than anyone can read share a line.
    told = [line["updates"] for line in updates]
    assert told[0] == 1
    assert told[-1] == -(-1_500 // (64 * 8))
    assert told == sorted(set(told))
    assert all(0 <= line["progress"] <= 1 for line in lines)
    assert lines[-1]["progress"] == 1.0
    assert lines[-1]["vec_steps"] * 8 == lines[-1]["timesteps"]
    means = [np.mean([e["reward"] for e in episodes[: i + 1]][-100:]) for i in range(len(episodes))]
    np.testing.assert_allclose([e["mean_reward"] for e in episodes], means)


async def test_the_same_seed_gives_the_same_training() -> None:
    models = []
    for _ in range(2):
        one = LocalWorker(memory_mb=2_048)
        await one.start()
        one.send(messages.encode(job(seed=5, total_timesteps=600, hyperparameters=SMALL)))
        models.append(PPO.load(io.BytesIO(model_of(await hear_to_the_end(one)))))
        one.kill()
        await one.wait()

    first, second = (model.policy.state_dict() for model in models)
    assert all((first[name] == second[name]).all() for name in first)


async def test_a_stop_in_the_middle_of_an_update_keeps_the_model(worker: LocalWorker) -> None:
    # One rollout, then an update that alone would take minutes.
    slow = {"n_steps": 512, "batch_size": 2, "n_epochs": 100, "net_arch": [8]}
    worker.send(messages.encode(job(total_timesteps=100_000, hyperparameters=slow)))
    said = await worker.receive()
    while not (isinstance(said, messages.Progressed) and said.timesteps >= 512 * 8):
        said = await worker.receive()

    worker.stop()
    heard = await asyncio.wait_for(hear_to_the_end(worker), timeout=20)

    assert heard[-1] == messages.Finished(reason="stopped")
    assert PPO.load(io.BytesIO(model_of(heard))).num_timesteps >= 512 * 8


@pytest.mark.parametrize("engine", ["fast", "sb3"])
async def test_a_stop_waits_for_the_end_of_a_short_rollout(
    worker: LocalWorker, engine: str
) -> None:
    training = job(total_timesteps=1_000_000, hyperparameters=SMALL, engine=engine)
    worker.send(messages.encode(training))
    said = await worker.receive()
    while not (isinstance(said, messages.Progressed) and said.timesteps):
        said = await worker.receive()

    worker.stop()
    heard = await asyncio.wait_for(hear_to_the_end(worker), timeout=20)

    ended_at = PPO.load(io.BytesIO(model_of(heard))).num_timesteps
    checkpoints = [
        said.header.timesteps
        for said in heard
        if isinstance(said, Piece) and said.header.name == "checkpoint.zip" and said.header.last
    ]
    assert checkpoints[-1] == ended_at
    assert ended_at % (64 * 8) == 0


async def test_training_environments_are_never_drawn() -> None:
    envs = make_training_envs(job(env_id="LunarLander-v3").setup, 2)

    assert envs.get_attr("render_mode") == [None, None]
    envs.close()


async def test_weights_are_handed_out_only_while_somebody_watches(worker: LocalWorker) -> None:
    worker.send(messages.encode(job(hyperparameters=SMALL)))

    unwatched = await hear_to_the_end(worker)

    assert not any(isinstance(said, HandedOut) for said in unwatched)


async def test_a_viewer_plays_the_trainer_s_policy(worker: LocalWorker) -> None:
    training = job(total_timesteps=50_000, hyperparameters=SMALL)
    worker.send(messages.encode(training) + messages.encode(commands.Watch(on=True)))
    said = await worker.receive()
    while not isinstance(said, HandedOut):
        said = await worker.receive()
    viewer = LocalWorker(memory_mb=2_048)
    await viewer.start()

    order = commands.View(setup=training.setup, fps=15)
    viewer.send(messages.encode(order) + said.frame)
    shown = [await viewer.receive() for _ in range(3)]
    viewer.kill()
    await viewer.wait()

    assert all(isinstance(picture, Shown) for picture in shown)
    first = shown[0]
    assert isinstance(first, Shown)
    assert first.jpeg[:2] == b"\xff\xd8"
    assert first.header.kind == "training"
    assert first.header.step > 0


async def test_an_error_of_the_job_is_told_in_one_sentence(worker: LocalWorker) -> None:
    good = job()
    setup = msgspec.structs.replace(good.setup, env_id="NoSuchEnvironment-v9")
    broken = msgspec.structs.replace(good, setup=setup)
    worker.send(messages.encode(broken))

    (failed,) = await hear_to_the_end(worker)

    assert isinstance(failed, messages.Failed)
    assert "NoSuchEnvironment" in failed.reason
    assert "\n" not in failed.reason
    assert "Traceback" in failed.traceback


async def test_a_worker_ends_when_the_lab_is_gone(worker: LocalWorker) -> None:
    worker.send(messages.encode(job(total_timesteps=10_000_000)))
    while not isinstance(await worker.receive(), messages.Started):
        pass

    assert worker._process.stdin is not None
    worker._process.stdin.close()

    assert await asyncio.wait_for(worker._process.wait(), timeout=10) == 0


async def test_nothing_of_the_server_s_environment_reaches_a_worker(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("RL_LAB_SECRET", "s3cr3t")
    started = LocalWorker(memory_mb=512)
    await started.start()

    with open(f"/proc/{started.pid}/environ", "rb") as file:  # noqa: ASYNC230, PTH123
        environment = file.read()
    started.kill()
    await started.wait()

    assert b"s3cr3t" not in environment
    assert b"OMP_NUM_THREADS=1" in environment


async def test_a_worker_is_polite_to_the_server(worker: LocalWorker) -> None:
    import psutil

    assert psutil.Process(worker.pid).nice() == 10


class _Talker(LocalWorker):
    """A worker whose words are ours: it stands for one that was taken over."""

    def __init__(self, *frames: bytes) -> None:
        super().__init__(memory_mb=1)
        self._reader = asyncio.StreamReader()
        self._reader.feed_data(b"".join(frames))
        self._reader.feed_eof()

    async def receive(self) -> Received:
        class _Process:
            stdout = self._reader
            returncode = 0

            async def wait(self) -> int:
                return self.returncode

        self._started = _Process()  # type: ignore[assignment]
        return await super().receive()


@pytest.mark.parametrize(
    "frame",
    [
        framing.HEADER.pack(3 << 30),
        framing.HEADER.pack(0),
        framing.pack(b"J", b"\x80\x04pickle"),
        framing.pack(b"J", b'{"t":"progressed","timesteps":1e999}'),
        framing.pack(b"J", b'{"t":"finished","reason":"because"}'),
        framing.pack(b"J", b'{"t":"alive","more":1}'),
        framing.pack(b"J", b'{"t":"measured","lines":[{"reward":1.0}]}'),
        framing.pack(b"J", b'{"t":"started","timesteps":-1}'),
        framing.pack(b"J", b'{"t":"started","timesteps":100000000000000000000}'),
        framing.pack(b"J", b"[" * 100_000),
        framing.pack(b"J", b'"' + b"x" * (600 << 10) + b'"'),
        framing.pack(b"?", b"{}"),
        framing.pack(b"F", b"\xff\xff"),
        framing.pack(b"F", b""),
        framing.pack_with_header(b"B", b'{"name":"../../lab.db","last":true}', b"x"),
        framing.pack_with_header(b"W", b'{"episode":"x"}', b"x"),
    ],
)
async def test_what_no_honest_worker_says_is_a_breach(frame: bytes) -> None:
    with pytest.raises(ProtocolError):
        await _Talker(frame).receive()


async def test_half_a_frame_is_a_lost_worker() -> None:
    with pytest.raises(WorkerGoneError):
        await _Talker(framing.pack(b"J", b"{}")[:-1]).receive()


async def test_a_flood_of_messages_is_read_slowly() -> None:
    flood = _Talker(*[messages.encode(messages.Alive())] * 1_000)
    clock = asyncio.get_running_loop()

    began = clock.time()
    for _ in range(900):
        await flood.receive()

    # 400 at once, the next 400 a second later: not a timing, but the number of pauses made.
    assert clock.time() - began >= 1.0
