"""The log of the steps of a recorded evaluation."""

import json

import pytest

from app.protocol import messages
from app.run_config import RunConfig, RunRequest
from app.worker.envs.vectorized.pipeline import make_evaluation_envs
from app.worker.evaluation.evaluate import build_to_evaluate
from app.worker.evaluation.player import Player, Policy
from app.worker.evaluation.step_log import StepLog


def test_the_log_shows_probabilities_of_allowed_actions_only() -> None:
    request = RunRequest(env_id="Taxi-v4", algorithm="MaskablePPO")
    setup = RunConfig.from_request(request).setup()
    envs = make_evaluation_envs(setup)
    model = build_to_evaluate(setup, envs, deterministic=False)
    player = Player(envs, {messages.AGENT: Policy(model, deterministic=False)})
    log, masks = StepLog(envs, model), []

    for step in player.play_episode(seed=1):
        log.add(step, frame_index=0)
        if step.masks is not None:
            masks.append(step.masks[0].tolist())

    shown = [one["weighed"] for one in json.loads(log.content())["moments"]]
    assert len(shown) == len(masks)
    assert any(not all(mask) for mask in masks)
    for probabilities, mask in zip(shown, masks, strict=True):
        assert sum(probabilities) == pytest.approx(1, abs=1e-3)
        assert [value > 0 for value in probabilities] == mask
