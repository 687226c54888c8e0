"""An agent can do without some actions; everything outside of it sees the environment's own."""

from typing import Any

import numpy as np
import onnxruntime
import pytest

from app.core import InputError
from app.protocol import commands
from app.run_config import RunConfig, RunRequest
from app.worker.envs.reward_functions import RewardFunction
from app.worker.envs.vectorized.array_envs import prefers_array_envs
from app.worker.envs.vectorized.pipeline import (
    make_evaluation_envs,
    make_training_envs,
    single_env,
)
from app.worker.evaluation.episode_recorder import EpisodeRecorder
from app.worker.evaluation.reward_terms import RewardTerms
from app.worker.export.onnx_export import write_policy
from app.worker.models.models import build_model

REWARD = """
def reward(obs, action, next_obs, reward, terminated, truncated, info):
    return {"action": float(action)}
"""


def config_of(env_id: str, left_out: Any, algorithm: str = "PPO") -> RunConfig:
    wrappers = {"left_out_actions": left_out}
    return RunConfig.from_request(RunRequest(env_id=env_id, algorithm=algorithm, wrappers=wrappers))


@pytest.mark.parametrize(
    ("env_id", "given", "numbers", "labels"),
    [
        ("Acrobot-v1", "no torque", (1,), ("torque -1", "torque +1")),
        ("Acrobot-v1", [1], (1,), ("torque -1", "torque +1")),
        ("ALE/Breakout-v5", "NOOP, 1", (0, 1), ("right", "left")),
        ("Acrobot-v1", "", (), ("torque -1", "no torque", "torque +1")),
    ],
)
def test_actions_are_left_out_by_name_or_number(
    env_id: str, given: object, numbers: tuple[int, ...], labels: tuple[str, ...]
) -> None:
    config = config_of(env_id, given)

    assert config.wrappers.left_out_actions == numbers
    assert config.environment.action_labels == labels
    assert config.environment.n_actions == len(labels)


@pytest.mark.parametrize(
    ("env_id", "given", "sentence"),
    [
        ("Acrobot-v1", "jump", "has no action 'jump'. Its actions: torque -1, no torque"),
        ("Acrobot-v1", [0, 1], "must keep at least two of the 3 actions"),
        ("Pendulum-v1", "0", "needs discrete actions"),
        ("Acrobot-v1", 7, "must be names or numbers of actions"),
    ],
)
def test_impossible_choices_are_refused(env_id: str, given: object, sentence: str) -> None:
    with pytest.raises(InputError, match=sentence) as refused:
        config_of(env_id, given)

    assert refused.value.field == "wrappers.left_out_actions"


@pytest.mark.parametrize("make", [make_training_envs, make_evaluation_envs])
def test_the_agents_actions_are_those_of_the_environment(make: Any) -> None:
    setup = config_of("Acrobot-v1", "no torque").setup()
    envs = make(setup, 1) if make is make_training_envs else make(setup)
    full = make_evaluation_envs(config_of("Acrobot-v1", "").setup())
    envs.seed(1)
    full.seed(1)
    assert envs.reset() == pytest.approx(full.reset())

    for ours, theirs in ((1, 2), (0, 0), (1, 2)):
        found, expected = envs.step(np.array([ours]))[0], full.step(np.array([theirs]))[0]
        assert found == pytest.approx(expected)

    assert envs.action_space.n == 2
    assert not prefers_array_envs(setup, 64)


def test_masks_are_those_of_the_actions_that_are_left() -> None:
    envs = make_evaluation_envs(config_of("Taxi-v4", "north", "MaskablePPO").setup())
    full = make_evaluation_envs(config_of("Taxi-v4", "", "MaskablePPO").setup())
    for one in (envs, full):
        one.seed(4)
        one.reset()
    north = 1

    (mask,), (whole,) = envs.env_method("action_masks"), full.env_method("action_masks")

    assert list(mask) == [valid for action, valid in enumerate(whole) if action != north]


def test_code_of_users_gets_the_actions_of_the_environment() -> None:
    setup = config_of("Acrobot-v1", "no torque").setup()
    envs = make_training_envs(setup, 1, RewardFunction(REWARD, ()))
    played = make_evaluation_envs(setup)
    terms = RewardTerms.insert_into(played, commands.Reward(code=REWARD))
    recorder = EpisodeRecorder.insert_into(played)
    for one in (envs, played):
        one.seed(1)
        one.reset()

    _, rewards, _, _ = envs.step(np.array([1]))
    dones = [False]
    while not dones[0]:
        _, _, dones, _ = played.step(np.array([1]))

    assert rewards[0] == 2.0
    assert terms is not None
    assert set(recorder.last_episode(1).actions.tolist()) == {2}


@pytest.mark.parametrize("algorithm", ["PPO", "DQN"])
def test_an_exported_policy_answers_with_the_actions_of_the_environment(algorithm: str) -> None:
    setup = config_of("Acrobot-v1", "torque -1", algorithm).setup()
    envs = make_evaluation_envs(setup)
    model = build_model(setup, envs, seed=1)
    observations = np.random.default_rng(1).normal(size=(50, 6)).astype(np.float32)

    session = onnxruntime.InferenceSession(write_policy(setup, model, envs))
    found = session.run(["action"], {"observation": observations})[0]

    chosen, _ = model.predict(observations, deterministic=True)
    assert single_env(envs).action_space.n == 2  # type: ignore[attr-defined]
    assert found.tolist() == (chosen + 1).tolist()
