"""Scores of games relative to random and human play, and RL Zoo's presets for games."""

import pytest

from app.catalog.environments import ENVIRONMENTS, human_normalized
from app.catalog.environments.atari_scores import ATARI_SCORES
from app.catalog.environments.reference_scores import reference_score
from app.catalog.presets import PresetName
from app.catalog.presets.atari import ATARI_ZOO
from app.run_config import RunConfig, RunRequest


def test_every_game_of_the_catalogue_has_reference_scores() -> None:
    games = [spec for spec in ENVIRONMENTS.values() if spec.family == "atari"]

    assert len(ATARI_SCORES) == 57
    for spec in games:
        random, human = ATARI_SCORES[spec.id.removeprefix("ALE/").removesuffix("-v5")]
        assert human_normalized(spec.id, random) == 0.0
        assert human_normalized(spec.id, human) == 1.0


def test_games_are_compared_with_other_tasks_by_human_play() -> None:
    reference = reference_score("ALE/Pong-v5")

    assert reference is not None
    assert (reference.random, reference.reference, reference.source) == (-20.7, 14.6, "human play")
    assert reference.options == {"protocol": "NoFrameskip-v4"}


@pytest.mark.parametrize(
    ("env_id", "score", "normalized"),
    [
        ("ALE/Pong-v5", 14.6, 1.0),
        ("PongNoFrameskip-v4", 21.0, 1.1813),
        ("ALE/Breakout-v5", None, None),
        ("ALE/Tetris-v5", 3.0, None),
        ("CartPole-v1", 500.0, None),
        ("custom/Pong-v1", 21.0, None),
    ],
)
def test_scores_are_normalized_where_human_scores_are_known(
    env_id: str, score: float | None, normalized: float | None
) -> None:
    assert human_normalized(env_id, score) == pytest.approx(normalized, abs=1e-4)


@pytest.mark.parametrize("algorithm", ATARI_ZOO)
def test_the_values_of_the_zoo_can_be_trained_with(algorithm: str) -> None:
    pytest.importorskip("ale_py")
    preset = ATARI_ZOO[algorithm]

    config = RunConfig.from_request(
        RunRequest(env_id="PongNoFrameskip-v4", algorithm=algorithm, preset=PresetName.RL_ZOO)
    )

    assert config.hyperparameters["net_arch"] == ()
    assert (config.n_envs, config.total_timesteps) == (preset.n_envs, 10_000_000)
    assert config.hyperparameters["gamma"] == 0.99
    assert config.wrappers.frame_stack == 4
