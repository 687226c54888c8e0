"""The replay buffer that stores frames once samples exactly what SB3's own would."""

import io
import pickle
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from stable_baselines3 import DQN
from stable_baselines3.common.buffers import NStepReplayBuffer, ReplayBuffer
from stable_baselines3.common.vec_env import VecEnv

from app.run_config import RunConfig, RunRequest
from app.worker.envs.vectorized.pipeline import make_training_envs
from app.worker.models.frame_buffer import FrameBuffer, NStepFrameBuffer
from app.worker.models.models import build_model, load_model, save_model

pytest.importorskip("ale_py")

CLASSIC = {"env_id": "SpaceInvadersNoFrameskip-v4", "wrappers": {"time_limit": 70}}
CASES = [
    (CLASSIC, 1),
    ({**CLASSIC, "env_kwargs": {"greyscale": False}, "wrappers": {"frame_stack": 2}}, 1),
    ({**CLASSIC, "wrappers": {"frame_stack": 1, "time_limit": 40}}, 1),
    (CLASSIC, 3),
]


def setup_of(**options: Any) -> Any:
    return RunConfig.from_request(
        RunRequest.model_validate({"algorithm": "DQN", **options})
    ).setup()


def transitions(envs: VecEnv, count: int) -> Iterator[tuple[Any, ...]]:
    """Yield the transitions of random actions, as SB3 hands them to its buffer."""
    envs.seed(5)
    envs.action_space.seed(5)
    observations: Any = envs.reset()
    for _ in range(count):
        actions = np.array([envs.action_space.sample() for _ in range(envs.num_envs)])
        following, rewards, dones, infos = envs.step(actions)
        after = np.array(following)
        for index in np.flatnonzero(dones):
            after[index] = infos[index]["terminal_observation"]
        yield observations, after, actions, rewards, dones, infos
        observations = following


def assert_same_samples(one: ReplayBuffer, other: ReplayBuffer) -> None:
    samples = []
    for buffer in (one, other):
        np.random.seed(8)
        samples.append(buffer.sample(200))
    for name in samples[0]._fields:
        expected, found = (getattr(sample, name) for sample in samples)
        if expected is not None:
            np.testing.assert_array_equal(found, expected, err_msg=name)


@pytest.mark.parametrize(("options", "n_steps"), CASES)
def test_samples_are_those_of_the_buffer_of_sb3(options: dict[str, Any], n_steps: int) -> None:
    setup = setup_of(**options)
    envs = make_training_envs(setup, 2)
    spaces: Any = envs.observation_space, envs.action_space
    stack = setup.wrappers.frame_stack
    more: dict[str, Any] = {"n_envs": 2, "device": "cpu"}
    if n_steps > 1:
        more |= {"n_steps": n_steps, "gamma": 0.9}
        ours: ReplayBuffer = NStepFrameBuffer(300, *spaces, stack=stack, **more)
        theirs: ReplayBuffer = NStepReplayBuffer(300, *spaces, **more)
    else:
        ours = FrameBuffer(300, *spaces, stack=stack, **more)
        theirs = ReplayBuffer(300, *spaces, **more)

    for index, transition in enumerate(transitions(envs, 400)):
        ours.add(*transition)
        theirs.add(*transition)
        if index % 37 == 10:
            assert_same_samples(theirs, ours)
            ours = pickle.loads(pickle.dumps(ours))

    assert_same_samples(theirs, ours)
    envs.close()


def test_observations_that_do_not_follow_each_other_are_stored_whole() -> None:
    """As after a resume that began new episodes."""
    setup = setup_of(**CLASSIC)
    envs = make_training_envs(setup, 1)
    spaces: Any = envs.observation_space, envs.action_space
    ours = FrameBuffer(50, *spaces, stack=4, device="cpu")
    theirs = ReplayBuffer(50, *spaces, device="cpu")

    for index, transition in enumerate(transitions(envs, 120)):
        if index % 10 < 7:
            ours.add(*transition)
            theirs.add(*transition)

    assert_same_samples(theirs, ours)
    envs.close()


def test_a_hundred_thousand_transitions_of_a_game_take_less_than_a_gigabyte() -> None:
    setup = setup_of(env_id="ALE/Pong-v5")
    envs = make_training_envs(setup, 1)

    model = build_model(setup, envs, seed=1)

    buffer: Any = model.replay_buffer  # type: ignore[attr-defined]
    arrays = [value for value in vars(buffer).values() if isinstance(value, np.ndarray)]
    assert buffer.buffer_size == model.buffer_size == 100_000  # type: ignore[attr-defined]
    assert 705e6 < sum(array.nbytes for array in arrays) < 712e6
    envs.close()


def test_a_saved_model_needs_no_code_of_the_lab() -> None:
    setup = setup_of(**CLASSIC, hyperparameters={"buffer_size": 500})
    envs = make_training_envs(setup, 1)
    model = build_model(setup, envs, seed=1)

    content = save_model(model)
    loaded: Any = load_model(setup, content, envs)

    assert DQN.load(io.BytesIO(content)).replay_buffer_class is ReplayBuffer
    assert isinstance(loaded, DQN)
    assert isinstance(loaded.replay_buffer, FrameBuffer)
    assert loaded.replay_buffer.buffer_size == loaded.buffer_size == 500
    envs.close()
