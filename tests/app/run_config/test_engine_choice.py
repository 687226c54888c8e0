"""Which engine trains a run, and where it is reported."""

from typing import Any

import gymnasium as gym
import numpy as np
import pytest
from stable_baselines3.common.vec_env import DummyVecEnv

from app.catalog.algorithms.catalogue import ALGORITHMS
from app.core.errors import InputError
from app.run_config.config import RunConfig
from app.run_config.engine import describe_engine
from app.run_config.request import RunRequest
from app.worker.envs.vectorized.checked import BadEnvironmentError
from app.worker.models.algorithms import ALGORITHMS as IMPLEMENTATIONS
from app.worker.models.models import build_model
from tests.lab_server import LabServer

ALL_SUPPORTED = "all options are supported"


def config(**options: Any) -> RunConfig:
    request = {"env_id": "CartPole-v1", "algorithm": "PPO", **options}
    return RunConfig.from_request(RunRequest.model_validate(request))


def test_the_reasons_in_configurations_of_0_1_are_still_understood() -> None:
    assert describe_engine("fast", "it does all that is asked for here") == "Using the fast engine."
    assert describe_engine("sb3", "as asked for") == "Using Stable-Baselines3, as requested."


@pytest.mark.parametrize(
    ("algorithm", "env_id"),
    [
        *((algorithm, "CartPole-v1") for algorithm in ("PPO", "A2C", "DQN")),
        *((algorithm, "Pendulum-v1") for algorithm in ("SAC", "TD3", "TQC")),
    ],
)
def test_the_fast_engine_is_used_where_it_is_supported(algorithm: str, env_id: str) -> None:
    created = config(algorithm=algorithm, env_id=env_id)

    assert (created.engine, created.engine_used, created.engine_reason) == (
        "auto",
        "fast",
        ALL_SUPPORTED,
    )
    assert created.setup().engine == "fast"


@pytest.mark.parametrize(
    ("options", "reason"),
    [
        ({"algorithm": "QRDQN"}, "the fast engine does not support QRDQN"),
        (
            {"hyperparameters": {"layer_norm": True}},
            "the fast engine does not support layer normalization (layer_norm)",
        ),
        (
            {"env_id": "Pendulum-v1", "hyperparameters": {"use_sde": True}},
            "the fast engine does not support state-dependent noise (use_sde)",
        ),
        (
            {"env_id": "Pendulum-v1", "algorithm": "SAC", "hyperparameters": {"use_sde": True}},
            "the fast engine does not support state-dependent noise (use_sde)",
        ),
        (
            {"env_id": "Pendulum-v1", "algorithm": "CrossQ"},
            "the fast engine does not support CrossQ",
        ),
        (
            {"env_id": "CarRacing-v3"},
            "the fast engine does not support image observations",
        ),
    ],
)
def test_sb3_is_used_otherwise_and_the_reason_is_stored(
    options: dict[str, Any], reason: str
) -> None:
    created = config(**options)

    assert (created.engine_used, created.engine_reason) == ("sb3", reason)
    with pytest.raises(InputError) as refused:
        config(**options, engine="fast")
    assert refused.value.field == "engine"
    assert str(refused.value) == f"engine fast can't train this: {reason}. Use auto or sb3."


def test_sb3_can_be_requested() -> None:
    created = config(engine="sb3")

    assert (created.engine_used, created.engine_reason) == ("sb3", "as requested")


def test_a_run_older_than_the_fast_engine_keeps_sb3() -> None:
    old = config().model_dump(exclude={"engine_used", "engine_reason"})

    assert RunConfig.model_validate(old).setup().engine == "sb3"


def test_the_catalog_lists_exactly_the_algorithms_that_the_fast_engine_implements() -> None:
    cataloged = {name: spec.is_in_fast_engine for name, spec in ALGORITHMS.items()}

    assert cataloged == {name: one.fast is not None for name, one in IMPLEMENTATIONS.items()}


def test_a_worker_refuses_to_train_if_the_kind_of_observations_has_changed() -> None:
    class DictObservations(gym.Env[Any, Any]):
        observation_space = gym.spaces.Dict({"place": gym.spaces.Box(-1, 1, (2,), np.float32)})
        action_space = gym.spaces.Discrete(2)

    with pytest.raises(BadEnvironmentError, match=r"CartPole-v1 are images or dictionaries, which"):
        build_model(config().setup(), DummyVecEnv([DictObservations]))


@pytest.mark.slow
@pytest.mark.parametrize(
    ("options", "engine", "sentence"),
    [
        ({}, "fast", "Using the fast engine."),
        ({"engine": "sb3"}, "sb3", "Using Stable-Baselines3, as requested."),
        (
            {"hyperparameters": {"layer_norm": True}},
            "sb3",
            (
                "Using Stable-Baselines3: the fast engine does not support layer "
                "normalization (layer_norm)."
            ),
        ),
    ],
)
def test_the_run_and_its_log_name_the_engine(
    server: LabServer, options: dict[str, Any], engine: str, sentence: str
) -> None:
    run = server.train(total_timesteps=2_048, **options)

    assert run["engine"] == run["config"]["engine_used"] == engine
    assert server.messages(run["id"]).count(sentence) == 1
