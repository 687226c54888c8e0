"""Presets fit, and those of the lab were measured."""

from collections.abc import Iterator

import pytest

from app.catalog.algorithms.catalogue import ALGORITHMS, get_algorithm
from app.catalog.algorithms.sb3_defaults import sb3_defaults
from app.catalog.algorithms.spec import AlgorithmSpec
from app.catalog.environments.catalogue import ENVIRONMENTS, get_environment
from app.catalog.environments.spec import EnvSpec
from app.catalog.presets.catalogue import MIN_SEEDS, TUNED, expectation, get_preset, presets_for
from app.catalog.presets.rl_zoo import RL_ZOO
from app.catalog.presets.rl_zoo_scores import published
from app.catalog.presets.spec import Preset, PresetName
from app.core import InputError
from app.run_config.config import RunConfig
from app.run_config.request import RunRequest

_OTHERS = {PresetName.SB3_DEFAULTS, PresetName.RL_ZOO}


def pairs() -> Iterator[tuple[EnvSpec, AlgorithmSpec]]:
    """Yield each environment with each algorithm that fits it."""
    for environment in ENVIRONMENTS.values():
        for algorithm in ALGORITHMS.values():
            if environment.action_kind in algorithm.action_kinds:
                yield environment, algorithm


def offered_by_the_lab() -> Iterator[tuple[str, str, PresetName, Preset]]:
    """Yield the presets that users can choose and that are neither SB3's nor RL Zoo's."""
    for environment, algorithm in pairs():
        for name, preset in presets_for(environment, algorithm).items():
            if name not in _OTHERS:
                yield environment.id, algorithm.id, name, preset


def test_every_preset_is_a_valid_request() -> None:
    for environment, algorithm in pairs():
        for name, preset in presets_for(environment, algorithm).items():
            if environment.is_installed:
                config = RunConfig.from_request(
                    RunRequest(env_id=environment.id, algorithm=algorithm.id, preset=name)
                )
                given = algorithm.complete(preset.hyperparameters)
                for value in preset.hyperparameters:
                    assert config.hyperparameters[value] == given[value], (environment.id, name)
            assert preset.note.count("replay buffer") <= 1, preset.note


def test_a_preset_of_the_lab_is_offered_only_after_it_was_measured() -> None:
    offered = list(offered_by_the_lab())

    results = [expectation(env_id, algorithm, name) for env_id, algorithm, name, _ in offered]

    assert len(offered) >= 6
    for result in results:
        assert result is not None
        assert len(result.scores) >= MIN_SEEDS
        assert result.seconds > 0


def test_a_preset_of_the_lab_reaches_what_rl_zoo_publishes_in_as_many_steps() -> None:
    for env_id, algorithm, name, preset in offered_by_the_lab():
        target = published(env_id, algorithm)
        result = expectation(env_id, algorithm, name)
        if target is not None:
            assert result is not None
            assert result.score >= target.score, (env_id, algorithm, name)
            assert preset.total_timesteps <= target.timesteps, (env_id, algorithm, name)


def test_presets_of_a_pair_differ_in_more_than_their_budget() -> None:
    for pair, presets in TUNED.items():
        values = [(one.n_envs, one.hyperparameters, one.wrappers) for one in presets.values()]
        assert all(values.count(one) == 1 for one in values), pair


def test_a_pair_without_measured_presets_has_only_those_of_others() -> None:
    names = presets_for(get_environment("CartPole-v1"), get_algorithm("A2C"))

    assert set(names) == _OTHERS


def test_a_preset_that_does_not_exist_is_refused_with_those_that_do() -> None:
    request = RunRequest(env_id="CartPole-v1", algorithm="A2C", preset=PresetName.FAST)

    with pytest.raises(InputError, match="Choose one of: sb3_defaults, rl_zoo") as refused:
        RunConfig.from_request(request)

    assert refused.value.field == "preset"


def test_rl_zoo_has_its_own_values_and_sb3s_for_what_it_omits() -> None:
    algorithm = get_algorithm("PPO")

    cartpole = get_preset(get_environment("CartPole-v1"), algorithm, PresetName.RL_ZOO)
    car = get_preset(get_environment("MountainCar-v0"), algorithm, PresetName.RL_ZOO)

    assert (cartpole.total_timesteps, cartpole.n_envs) == (100_000, 8)
    assert cartpole.hyperparameters["learning_rate"] == "1e-3 -> 0"
    assert cartpole.hyperparameters["gae_lambda"] == 0.8
    assert cartpole.published is not None
    assert cartpole.published.score == 500
    assert car.wrappers == {"normalize_observation": True, "normalize_reward": True}
    assert car.hyperparameters["batch_size"] == sb3_defaults(algorithm)["batch_size"]


def test_rl_zoo_names_only_environments_and_algorithms_of_the_lab() -> None:
    assert RL_ZOO.keys() <= ALGORITHMS.keys()
    for algorithm, presets in RL_ZOO.items():
        assert presets.keys() <= ENVIRONMENTS.keys(), algorithm


def test_a_replay_buffer_that_no_worker_can_hold_is_smaller_and_the_note_says_so() -> None:
    preset = get_preset(
        get_environment("Humanoid-v5"), get_algorithm("SAC"), PresetName.SB3_DEFAULTS
    )

    assert preset.hyperparameters["buffer_size"] < 1_000_000
    assert "1,000,000" in preset.note


def test_rl_zoo_presets_of_atari_games_name_the_protocol_of_their_scores() -> None:
    pong = get_environment("ALE/Pong-v5")

    dqn = get_preset(pong, get_algorithm("DQN"), PresetName.RL_ZOO)
    a2c = get_preset(pong, get_algorithm("A2C"), PresetName.RL_ZOO)

    assert dqn.hyperparameters["learning_rate"] == 1e-4
    assert dqn.wrappers == {"frame_stack": 4}
    assert dqn.published is not None
    assert dqn.published.env_id == "PongNoFrameskip-v4"
    assert "NoFrameskip-v4" in dqn.note
    assert "RMSpropTFLike" in a2c.note
