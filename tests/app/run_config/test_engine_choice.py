"""Which engine trains a run, and who hears of it."""

from typing import Any

import gymnasium as gym
import msgspec
import numpy as np
import pytest
from stable_baselines3.common.vec_env import DummyVecEnv

from app.catalog.algorithms.catalogue import CATALOGUE
from app.core.errors import InputError
from app.protocol.engine import why_not_fast
from app.run_config.config import RunConfig, RunRequest
from app.worker.models.models import _FAST, settle_engine
from tests.lab_server import LabServer

CAN_DO_IT = "it does all that is asked for here"


def config(**wishes: Any) -> RunConfig:
    request = {"env_id": "CartPole-v1", "algorithm": "PPO", **wishes}
    return RunConfig.from_request(RunRequest.model_validate(request))


@pytest.mark.parametrize(
    ("algorithm", "env_id"),
    [
        *((algorithm, "CartPole-v1") for algorithm in ("PPO", "A2C", "DQN")),
        *((algorithm, "Pendulum-v1") for algorithm in ("SAC", "TD3", "TQC")),
    ],
)
def test_the_fast_engine_is_used_where_it_can_be(algorithm: str, env_id: str) -> None:
    made = config(algorithm=algorithm, env_id=env_id)

    assert (made.engine, made.engine_used, made.engine_reason) == ("auto", "fast", CAN_DO_IT)
    assert made.setup().engine == "fast"


@pytest.mark.parametrize(
    ("wishes", "reason"),
    [
        ({"algorithm": "QRDQN"}, "QRDQN is not in the fast engine"),
        (
            {"hyperparameters": {"layer_norm": True}},
            "layer normalisation (layer_norm) is not in the fast engine",
        ),
        (
            {"env_id": "Pendulum-v1", "hyperparameters": {"use_sde": True}},
            "state-dependent noise (use_sde) is not in the fast engine",
        ),
        (
            {"env_id": "Pendulum-v1", "algorithm": "SAC", "hyperparameters": {"use_sde": True}},
            "state-dependent noise (use_sde) is not in the fast engine",
        ),
        (
            {"env_id": "Pendulum-v1", "algorithm": "CrossQ"},
            "CrossQ is not in the fast engine",
        ),
        (
            {"env_id": "CarRacing-v3"},
            "observations that are pictures are not in the fast engine",
        ),
    ],
)
def test_sb3_is_used_for_the_rest_and_the_reason_is_kept(
    wishes: dict[str, Any], reason: str
) -> None:
    made = config(**wishes)

    assert (made.engine_used, made.engine_reason) == ("sb3", reason)
    with pytest.raises(InputError) as refused:
        config(**wishes, engine="fast")
    assert refused.value.field == "engine"
    assert str(refused.value) == f"engine fast can't train this: {reason}. Use auto or sb3."


def test_sb3_can_be_asked_for() -> None:
    made = config(engine="sb3")

    assert (made.engine_used, made.engine_reason) == ("sb3", "as asked for")


def test_a_run_from_before_there_was_a_fast_engine_stays_with_sb3() -> None:
    old = config().model_dump(exclude={"engine_used", "engine_reason"})

    assert RunConfig.model_validate(old).setup().engine == "sb3"


def test_what_is_said_to_be_fast_is_what_the_worker_has() -> None:
    fast = {name for name in CATALOGUE if why_not_fast(name, {}, "box") is None}

    assert fast == set(_FAST)


def test_a_worker_that_finds_other_observations_leaves_the_fast_engine() -> None:
    class Seeing(gym.Env[Any, Any]):
        observation_space = gym.spaces.Dict({"place": gym.spaces.Box(-1, 1, (2,), np.float32)})
        action_space = gym.spaces.Discrete(2)

    settled, why_not = settle_engine(config().setup(), DummyVecEnv([Seeing]))

    assert settled == msgspec.structs.replace(config().setup(), engine="sb3")
    assert why_not == "observations that are dictionaries are not in the fast engine"


@pytest.mark.slow
@pytest.mark.parametrize(
    ("wishes", "engine", "sentence"),
    [
        ({}, "fast", f"Trains with the fast engine: {CAN_DO_IT}."),
        ({"engine": "sb3"}, "sb3", "Trains with Stable-Baselines3, as asked for."),
        (
            {"hyperparameters": {"layer_norm": True}},
            "sb3",
            "Trains with Stable-Baselines3: layer normalisation (layer_norm) is not in the fast "
            "engine.",
        ),
    ],
)
def test_the_record_and_the_log_say_what_trained(
    server: LabServer, wishes: dict[str, Any], engine: str, sentence: str
) -> None:
    run = server.train(total_timesteps=2_048, **wishes)

    assert run["engine"] == run["config"]["engine_used"] == engine
    assert server.messages(run["id"]).count(sentence) == 1
