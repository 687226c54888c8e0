from typing import Any

import pytest

from app.run_config.config import RunConfig, RunRequest
from app.run_config.derive import derive
from app.run_config.preset_results import promised_scores


def config(**wishes: Any) -> dict[str, Any]:
    request = RunRequest(env_id="Acrobot-v1", algorithm="PPO", **wishes)
    return RunConfig.from_request(request).model_dump(mode="json")


def test_a_run_of_a_measured_preset_has_something_to_live_up_to() -> None:
    low, high = promised_scores(config(preset="stable")) or (0, 0)

    assert -100 < low < high < -70


@pytest.mark.parametrize(
    "wishes",
    [
        {},
        {"preset": "fast", "total_timesteps": 1_000},
        {"preset": "stable", "n_envs": 3},
        {"preset": "stable", "hyperparameters": {"gamma": 0.5}},
        {"preset": "stable", "wrappers": {"frame_skip": 2}},
    ],
)
def test_who_leaves_the_preset_is_promised_nothing(wishes: dict[str, Any]) -> None:
    assert promised_scores(config(**wishes)) is None


def test_a_run_can_be_asked_for_once_more_with_another_seed() -> None:
    made = config(
        preset="high_score",
        seed=1,
        wrappers={"frame_stack": 2, "randomize": {"LINK_LENGTH_1": [0.9, 1.1]}},
        hyperparameters={"learning_rate": "1e-3 -> 0"},
    )

    again = RunConfig.from_request(derive(made)).model_dump(mode="json")

    assert again.pop("seed") != made.pop("seed")
    assert again == made
