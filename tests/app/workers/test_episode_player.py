"""Episodes played by a worker from a policy and a command, without a run."""

import pytest

from app.protocol import commands, messages
from app.run_config.config import RunConfig
from app.run_config.request import RunRequest
from app.workers.episode_player import EpisodePlayer
from app.workers.errors import ProtocolError
from app.workers.pool import WorkerPool
from app.workers.worker import PackedPolicy

pytestmark = pytest.mark.slow

SMALL = RunConfig.from_request(
    RunRequest(
        env_id="CartPole-v1",
        algorithm="ppo",
        total_timesteps=100_000,
        hyperparameters={"n_steps": 64, "net_arch": [8]},
    )
)


@pytest.fixture
def pool() -> WorkerPool:
    return WorkerPool(memory_mb=2_048, side_slots=0)


async def policy_of(pool: WorkerPool) -> bytes:
    async with pool.job(SMALL.job()) as job:
        job.worker.send(messages.encode(commands.SendPolicy()))
        while not isinstance(received := await job.next(within_s=60), PackedPolicy):
            pass
        return received.frame


async def test_the_same_seeds_give_the_same_returns_and_nothing_is_stored(
    pool: WorkerPool,
) -> None:
    command = commands.Evaluate(setup=SMALL.setup(), reports_each=True)
    policy, played = await policy_of(pool), list[messages.Played]()

    async with pool.job(command, low_priority=True) as job:
        player = EpisodePlayer(job, command, on_episode=played.append)
        (first, recorded), (second, _), (other, _) = [
            await player.play(policy, episodes=2, seed=seed) for seed in (7, 7, 8)
        ]

    assert first == second
    assert other.returns[0] == first.returns[1]
    assert [one.episodes for one in played] == [1, 2, 1, 2, 1, 2]
    assert tuple(one.returned for one in played[:2]) == first.returns
    assert recorded.video is None


async def test_an_unexpected_message_of_the_worker_is_a_protocol_error(pool: WorkerPool) -> None:
    expected = commands.Evaluate(setup=SMALL.setup())
    given = commands.Evaluate(setup=SMALL.setup(), reports_each=True)
    policy = await policy_of(pool)

    async with pool.job(given, low_priority=True) as job:
        with pytest.raises(ProtocolError, match="Played instead of an evaluation"):
            await EpisodePlayer(job, expected).play(policy, episodes=1, seed=7)
