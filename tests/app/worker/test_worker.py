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
from app.run_config.config import RunConfig
from app.run_config.request import RunRequest
from app.worker.envs.vectorized.pipeline import make_training_envs
from app.workers.errors import ProtocolError, WorkerGoneError
from app.workers.local_worker import LocalWorker
from app.workers.worker import PackedPolicy, Piece, Received, RenderedFrame

pytestmark = pytest.mark.slow

SMALL = {"n_steps": 64, "batch_size": 64, "n_epochs": 2, "net_arch": [8]}


def job(**options: Any) -> commands.Train:
    request = {"env_id": "CartPole-v1", "algorithm": "PPO", "total_timesteps": 1_500, **options}
    config = RunConfig.from_request(RunRequest.model_validate(request))
    return config.job()


@pytest.fixture
async def worker() -> AsyncIterator[LocalWorker]:
    started = LocalWorker(memory_mb=2_048)
    await started.start()
    yield started
    started.kill()
    await started.wait()


async def receive_all(worker: LocalWorker) -> list[Received]:
    received: list[Received] = []
    while not isinstance(received[-1] if received else None, messages.Finished | messages.Failed):
        received.append(await worker.receive())
    return received


def model_of(received: list[Received]) -> bytes:
    pieces = [message for message in received if isinstance(message, Piece)]
    return b"".join(piece.content for piece in pieces if piece.header.name == "model.zip")


def lines_of(received: list[Received]) -> list[dict[str, Any]]:
    batches = [message.lines for message in received if isinstance(message, messages.Measured)]
    return [line.flat() for batch in batches for line in batch]


async def test_a_model_trained_in_the_sandbox_can_be_loaded_by_plain_ppo(
    worker: LocalWorker,
) -> None:
    worker.send(messages.encode(job(hyperparameters=SMALL)))

    received = await receive_all(worker)

    assert received[-1] == messages.Finished(reason="budget")
    model = PPO.load(io.BytesIO(model_of(received)))
    action, _ = model.predict(gym.make("CartPole-v1").reset(seed=1)[0])
    assert action in (0, 1)
    assert model.num_timesteps >= 1_500


async def test_a_dqn_model_can_be_loaded_by_plain_dqn(worker: LocalWorker) -> None:
    worker.send(messages.encode(job(algorithm="DQN", hyperparameters={"learning_starts": 100})))

    received = await receive_all(worker)

    assert DQN.load(io.BytesIO(model_of(received))).num_timesteps >= 1_500
    losses = [line["loss"] for line in lines_of(received) if "loss" in line]
    assert losses
    assert all(isinstance(loss, float) for loss in losses)


async def test_metrics_cover_episodes_and_updates(worker: LocalWorker) -> None:
    worker.send(messages.encode(job(hyperparameters=SMALL)))

    lines = lines_of(await receive_all(worker))

    episodes = [line for line in lines if "reward" in line]
    updates = [line for line in lines if "loss" in line]
    assert [line["episode"] for line in episodes] == list(range(1, len(episodes) + 1))
    assert all(line["reward"] == line["episode_length"] for line in episodes)
    # Updates in quick succession share a line.
    counts = [line["updates"] for line in updates]
    assert counts[0] == 1
    assert counts[-1] == -(-1_500 // (64 * 8))
    assert counts == sorted(set(counts))
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
        models.append(PPO.load(io.BytesIO(model_of(await receive_all(one)))))
        one.kill()
        await one.wait()

    first, second = (model.policy.state_dict() for model in models)
    assert all((first[name] == second[name]).all() for name in first)


async def test_a_stop_in_the_middle_of_an_update_keeps_the_model(worker: LocalWorker) -> None:
    # One rollout, then a single update that would take minutes.
    slow = {"n_steps": 512, "batch_size": 2, "n_epochs": 100, "net_arch": [8]}
    worker.send(messages.encode(job(total_timesteps=100_000, hyperparameters=slow)))
    message = await worker.receive()
    while not (isinstance(message, messages.Progressed) and message.timesteps >= 512 * 8):
        message = await worker.receive()

    worker.stop()
    received = await asyncio.wait_for(receive_all(worker), timeout=20)

    assert received[-1] == messages.Finished(reason="stopped")
    assert PPO.load(io.BytesIO(model_of(received))).num_timesteps >= 512 * 8


@pytest.mark.parametrize("engine", ["fast", "sb3"])
async def test_a_stop_waits_for_the_end_of_a_short_rollout(
    worker: LocalWorker, engine: str
) -> None:
    training = job(total_timesteps=1_000_000, hyperparameters=SMALL, engine=engine)
    worker.send(messages.encode(training))
    message = await worker.receive()
    while not (isinstance(message, messages.Progressed) and message.timesteps):
        message = await worker.receive()

    worker.stop()
    received = await asyncio.wait_for(receive_all(worker), timeout=20)

    ended_at = PPO.load(io.BytesIO(model_of(received))).num_timesteps
    checkpoints = [
        message.header.timesteps
        for message in received
        if isinstance(message, Piece)
        and message.header.name == "checkpoint.zip"
        and message.header.last
    ]
    assert checkpoints[-1] == ended_at
    assert ended_at % (64 * 8) == 0


async def test_training_environments_are_never_rendered() -> None:
    envs = make_training_envs(job(env_id="LunarLander-v3").setup, 2)

    assert envs.get_attr("render_mode") == [None, None]
    envs.close()


async def test_weights_are_sent_only_while_there_are_viewers(worker: LocalWorker) -> None:
    worker.send(messages.encode(job(hyperparameters=SMALL)))

    received = await receive_all(worker)

    assert not any(isinstance(message, PackedPolicy) for message in received)


async def test_the_live_view_plays_the_policy_in_training(worker: LocalWorker) -> None:
    training = job(total_timesteps=50_000, hyperparameters=SMALL)
    worker.send(messages.encode(training) + messages.encode(commands.Watch(on=True)))
    message = await worker.receive()
    while not isinstance(message, PackedPolicy):
        message = await worker.receive()
    viewer = LocalWorker(memory_mb=2_048)
    await viewer.start()

    command = commands.View(setup=training.setup, fps=15)
    viewer.send(messages.encode(command) + message.frame)
    frames = [await viewer.receive() for _ in range(3)]
    viewer.kill()
    await viewer.wait()

    assert all(isinstance(frame, RenderedFrame) for frame in frames)
    first = frames[0]
    assert isinstance(first, RenderedFrame)
    assert first.jpeg[:2] == b"\xff\xd8"
    assert first.header.kind == "training"
    assert first.header.step > 0


async def test_an_error_of_the_job_is_reported_in_one_sentence(worker: LocalWorker) -> None:
    good = job()
    setup = msgspec.structs.replace(good.setup, env_id="NoSuchEnvironment-v9")
    broken = msgspec.structs.replace(good, setup=setup)
    worker.send(messages.encode(broken))

    (failed,) = await receive_all(worker)

    assert isinstance(failed, messages.Failed)
    assert "NoSuchEnvironment" in failed.reason
    assert "\n" not in failed.reason
    assert "Traceback" in failed.traceback


async def test_a_worker_exits_when_the_lab_is_gone(worker: LocalWorker) -> None:
    worker.send(messages.encode(job(total_timesteps=10_000_000)))
    while not isinstance(await worker.receive(), messages.Started):
        pass

    assert worker._process.stdin is not None
    worker._process.stdin.close()

    assert await asyncio.wait_for(worker._process.wait(), timeout=10) == 0


async def test_workers_do_not_inherit_the_servers_environment_variables(
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


async def test_a_worker_has_a_lower_priority_than_the_server(worker: LocalWorker) -> None:
    import psutil

    assert psutil.Process(worker.pid).nice() == 10


class _ScriptedWorker(LocalWorker):
    """A worker that sends given messages, in place of a compromised one."""

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
        self._reading = self._tasks.start(asyncio.sleep(0), name="no output")
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
async def test_an_invalid_message_is_a_protocol_error(frame: bytes) -> None:
    with pytest.raises(ProtocolError):
        await _ScriptedWorker(frame).receive()


async def test_half_a_message_means_a_lost_worker() -> None:
    with pytest.raises(WorkerGoneError):
        await _ScriptedWorker(framing.pack(b"J", b"{}")[:-1]).receive()


async def test_a_flood_of_messages_is_read_at_a_limited_rate() -> None:
    flood = _ScriptedWorker(*[messages.encode(messages.Alive())] * 1_000)
    clock = asyncio.get_running_loop()

    began = clock.time()
    for _ in range(900):
        await flood.receive()

    # 400 at once, the next 400 a second later: this tests the number of pauses, not speed.
    assert clock.time() - began >= 1.0


async def test_the_line_of_a_crash_is_reported_even_if_it_is_read_after_the_exit(
    worker: LocalWorker, monkeypatch: pytest.MonkeyPatch
) -> None:
    delivered = asyncio.Event()
    stderr = worker._process.stderr
    assert stderr is not None
    read = stderr.read

    async def read_late(size: int) -> bytes:
        await delivered.wait()
        return await read(size)

    monkeypatch.setattr(stderr, "read", read_late)
    wait = worker._process.wait

    async def deliver_after_exit() -> int:
        code = await wait()
        asyncio.get_running_loop().call_later(0.1, delivered.set)
        return code

    monkeypatch.setattr(worker._process, "wait", deliver_after_exit)
    code = """
def reward(obs, action, next_obs, reward, terminated, truncated, info):
    __import__("ctypes").string_at(0)
    return reward
"""
    worker.send(messages.encode(job(reward_code=code)))

    with pytest.raises(WorkerGoneError) as gone:
        await receive_all(worker)

    assert "line 3: it crashed the worker (SIGSEGV)" in str(gone.value)
