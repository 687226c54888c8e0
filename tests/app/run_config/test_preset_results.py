from typing import Any

import pytest

from app.analysis.report.repeating import repeat_of
from app.catalog.presets.spec import PresetName
from app.run_config.config import RunConfig
from app.run_config.derived_runs import derive
from app.run_config.preset_results import expected_scores
from app.run_config.request import RunRequest


def config(**options: Any) -> RunConfig:
    request = RunRequest(env_id="Acrobot-v1", algorithm="PPO", **options)
    return RunConfig.from_request(request)


def test_a_run_with_a_measured_preset_has_an_expected_score() -> None:
    low, high = expected_scores(config(preset="high_score")) or (0, 0)

    assert -100 < low < high < -70


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"preset": "high_score", "total_timesteps": 1_000},
        {"preset": "high_score", "n_envs": 3},
        {"preset": "high_score", "hyperparameters": {"gamma": 0.5}},
        {"preset": "high_score", "wrappers": {"frame_skip": 2}},
    ],
)
def test_a_run_that_deviates_from_its_preset_has_no_expected_score(options: dict[str, Any]) -> None:
    assert expected_scores(config(**options)) is None


def test_a_run_can_be_repeated_with_another_seed() -> None:
    original = config(
        preset="high_score",
        seed=1,
        wrappers={"frame_stack": 2, "randomize": {"LINK_LENGTH_1": [0.9, 1.1]}},
        hyperparameters={"learning_rate": "1e-3 -> 0"},
    )

    repetition = RunConfig.from_request(derive(original))

    assert repetition.seed != original.seed
    assert repetition.model_copy(update={"seed": original.seed}) == original


def test_a_run_whose_preset_is_gone_can_be_repeated_with_its_values() -> None:
    former = config(preset="high_score").model_copy(update={"preset": PresetName.STABLE})

    repetition = RunConfig.from_request(derive(former))

    assert expected_scores(former) is None
    assert repetition.preset is None
    assert repetition.hyperparameters == former.hyperparameters
    assert "--preset" not in repeat_of(former).command
