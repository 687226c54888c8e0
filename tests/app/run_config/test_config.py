from typing import Any

import pytest
from pydantic import ValidationError

from app.core.errors import InputError, input_error
from app.run_config.config import RunConfig
from app.run_config.request import RunRequest


def configure(**options: Any) -> RunConfig:
    try:
        request = RunRequest.model_validate(
            {"env_id": "CartPole-v1", "algorithm": "PPO", **options}
        )
    except ValidationError as error:
        raise input_error(error.errors()) from None
    return RunConfig.from_request(request)


def test_a_config_has_defaults_for_everything() -> None:
    config = configure()

    assert config.total_timesteps == 100_000
    assert config.n_envs == 8
    assert config.hyperparameters["learning_rate"] == 3e-4
    assert config.hyperparameters["net_arch"] == (64, 64)


def test_two_runs_without_a_seed_get_different_ones() -> None:
    assert configure().seed != configure().seed


def test_a_config_survives_a_round_trip_through_json() -> None:
    config = configure(seed=7)

    assert RunConfig.model_validate_json(config.model_dump_json()) == config


def test_policy_and_value_networks_can_have_different_layers() -> None:
    config = configure(hyperparameters={"net_arch": {"vf": [32], "pi": [8, 4]}})
    equal_layers = configure(hyperparameters={"net_arch": {"pi": [8], "vf": [8]}})

    assert config.hyperparameters["net_arch"] == {"pi": (8, 4), "vf": (32,)}
    assert RunConfig.model_validate_json(config.model_dump_json()) == config
    assert config.setup().networks == config.hyperparameters["net_arch"]
    assert equal_layers.hyperparameters["net_arch"] == (8,)


def test_a_top_level_learning_rate_sets_the_hyperparameter() -> None:
    assert configure(learning_rate=0.01).hyperparameters["learning_rate"] == 0.01


def test_an_old_id_is_mapped_to_its_successor() -> None:
    assert configure(env_id="LunarLander-v2").env_id == "LunarLander-v3"


@pytest.mark.parametrize("name", ["ppo", "PPO", "p-p-o"])
def test_names_of_algorithms_ignore_case_and_hyphens(name: str) -> None:
    assert configure(algorithm=name).algorithm == "PPO"


def test_timesteps_can_be_written_in_scientific_notation() -> None:
    assert configure(total_timesteps=1e5).total_timesteps == 100_000


@pytest.mark.parametrize(
    ("options", "field", "sentence"),
    [
        ({"env_id": "CartPole-v0"}, "env_id", "Did you mean CartPole-v1?"),
        ({"env_id": "zzz"}, "env_id", "Choose one of: CartPole-v1,"),
        ({"algorithm": "PPPO"}, "algorithm", "Did you mean PPO?"),
        (
            {"env_id": "BipedalWalker-v3", "algorithm": "DQN"},
            "algorithm",
            "DQN needs discrete actions, BipedalWalker-v3 has continuous ones.",
        ),
        ({"learning_rate": 0}, "learning_rate", "from 1e-08 to 1, got 0"),
        ({"learning_rate": "fast"}, "learning_rate", "a number"),
        ({"learning_rate": float("nan")}, "learning_rate", "a number"),
        ({"learning_rate": True}, "learning_rate", "a number"),
        ({"total_timesteps": -5}, "total_timesteps", "at least 1, got -5"),
        ({"total_timesteps": 10**12}, "total_timesteps", "at most 1,000,000,000"),
        ({"total_timesteps": 1.5}, "total_timesteps", "a whole number"),
        ({"total_timesteps": "many"}, "total_timesteps", "a whole number"),
        ({"n_envs": 0}, "n_envs", "at least 1"),
        ({"n_envs": 1_000}, "n_envs", "at most 64"),
        ({"seed": -1}, "seed", "at least 0"),
        ({"name": "x" * 201}, "name", "at most 200 characters"),
        ({"tags": ["a"] * 21}, "tags", "at most 20"),
        ({"colour": "red"}, "colour", "Unknown field 'colour'"),
        (
            {"hyperparameters": {"lerning_rate": 1}},
            "hyperparameters.lerning_rate",
            "Did you mean learning_rate?",
        ),
        ({"hyperparameters": {"gamma": 1.5}}, "hyperparameters.gamma", "from 0 to 1"),
        ({"hyperparameters": {"n_epochs": 2.5}}, "hyperparameters.n_epochs", "whole number"),
        ({"hyperparameters": {"net_arch": []}}, "hyperparameters.net_arch", "at least one layer"),
        (
            {"hyperparameters": {"net_arch": {"pi": [8], "qf": [8]}}},
            "hyperparameters.net_arch",
            "one for each of pi and vf",
        ),
        (
            {"hyperparameters": {"net_arch": {"pi": [8]}}},
            "hyperparameters.net_arch",
            "one for each of pi and vf",
        ),
        ({"hyperparameters": {"net_arch": [0]}}, "hyperparameters.net_arch", "from 1 to 2048"),
        ({"hyperparameters": {"activation_fn": "gelu"}}, "hyperparameters.activation_fn", "tanh"),
        ({"hyperparameters": {"gamma": None}}, "hyperparameters.gamma", "got None"),
        (
            {"hyperparameters": {"n_steps": 1}, "n_envs": 1},
            "hyperparameters.n_steps",
            "at least 2",
        ),
        (
            {"hyperparameters": {"batch_size": 4_096}},
            "hyperparameters.batch_size",
            "larger than one rollout of 2048 steps",
        ),
        ({"hyperparameters": {"use_sde": True}}, "hyperparameters.use_sde", "continuous"),
        (
            {"algorithm": "DQN", "hyperparameters": {"buffer_size": 100, "batch_size": 200}},
            "hyperparameters.batch_size",
            "larger than the buffer",
        ),
        (
            {"learning_rate": 0.1, "hyperparameters": {"learning_rate": 0.1}},
            "learning_rate",
            "given twice",
        ),
    ],
)
def test_bad_input_is_refused_with_its_field(
    options: dict[str, Any], field: str, sentence: str
) -> None:
    with pytest.raises(InputError) as refused:
        configure(**options)

    assert refused.value.field == field
    assert sentence in str(refused.value)


def test_null_disables_an_optional_hyperparameter() -> None:
    assert configure(hyperparameters={"target_kl": None}).hyperparameters["target_kl"] is None


def test_critics_that_drop_all_their_quantiles_are_refused() -> None:
    values = {"n_quantiles": 4, "top_quantiles_to_drop_per_net": 4}

    with pytest.raises(InputError, match="Lower it to at most 3") as refused:
        configure(env_id="Pendulum-v1", algorithm="TQC", hyperparameters=values)

    assert refused.value.field == "hyperparameters.top_quantiles_to_drop_per_net"
