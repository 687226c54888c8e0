"""Episodes that are played all at once have the same results as those played one by one."""

from typing import Any

import numpy as np
import pytest

from app.protocol import commands, messages
from app.run_config import RunConfig, RunRequest
from app.worker.envs.vectorized.pipeline import (
    evaluation_limit,
    make_evaluation_envs,
    make_training_envs,
)
from app.worker.envs.wrappers import EvaluationLimit
from app.worker.evaluation.evaluate import EpisodeResults, build_to_evaluate, play_episodes
from app.worker.evaluation.parallel_episodes import ParallelEpisodes
from app.worker.evaluation.player import FinishedEpisode, Player, Policy
from app.worker.models.models import build_model, load_weights, save_weights

pytestmark = pytest.mark.slow

_NOISY = {"observation_noise": 0.05, "randomize": {"gravity": [8.0, 12.0]}}


def both_ways(
    count: int, *, rendered: bool = False, disturbed: bool = False, **request: Any
) -> tuple[list[FinishedEpisode], list[FinishedEpisode]]:
    """Train briefly; return the results of episodes played one by one, and all at once."""
    setup = RunConfig.from_request(RunRequest(seed=3, **request)).setup()
    trained, envs = _train(setup, request)
    played = make_evaluation_envs(setup, rendered=rendered, disturbed=disturbed)
    model = build_to_evaluate(setup, played, deterministic=True)
    load_weights(model, played, save_weights(trained, envs))
    player = Player(played, {messages.AGENT: Policy(model, deterministic=True)})
    in_turn = list(play_episodes(player, count, 2_000_000))
    parallel = ParallelEpisodes(setup, model, disturbed=disturbed)
    at_once = list(parallel.play(count, seed=2_000_000, observed_by=played))
    for one in (parallel, played, envs):
        one.close()
    return in_turn, at_once


def _train(setup: commands.Setup, request: dict[str, Any]) -> tuple[Any, Any]:
    envs = make_training_envs(setup, request["n_envs"])
    model = build_model(setup, envs, seed=3)
    model.learn(request["total_timesteps"])
    return model, envs


@pytest.mark.parametrize(
    ("request_", "count"),
    [
        ({"env_id": "CartPole-v1", "algorithm": "PPO"}, 30),
        ({"env_id": "LunarLander-v3", "algorithm": "PPO"}, 12),
        ({"env_id": "LunarLanderContinuous-v3", "algorithm": "PPO"}, 12),
        ({"env_id": "Pendulum-v1", "algorithm": "SAC", "total_timesteps": 300}, 7),
        ({"env_id": "BipedalWalker-v3", "algorithm": "TQC", "total_timesteps": 300}, 3),
        ({"env_id": "CartPole-v1", "algorithm": "DQN"}, 6),
        ({"env_id": "CartPole-v1", "algorithm": "QRDQN"}, 6),
        ({"env_id": "Pendulum-v1", "algorithm": "CrossQ", "total_timesteps": 300}, 3),
        ({"env_id": "Pendulum-v1", "algorithm": "TD3", "total_timesteps": 300}, 3),
        ({"env_id": "CartPole-v1", "algorithm": "ARS", "total_timesteps": 2_000}, 6),
        ({"env_id": "Taxi-v4", "algorithm": "MaskablePPO"}, 4),
        ({"env_id": "FrozenLake-v1", "algorithm": "PPO"}, 10),
        (
            {
                "env_id": "CartPole-v1",
                "algorithm": "PPO",
                "wrappers": {"normalize_observation": True, "frame_stack": 3},
            },
            8,
        ),
    ],
    ids=lambda value: f"{value['algorithm']} {value['env_id']}" if isinstance(value, dict) else "",
)
def test_the_returns_of_each_seed_are_the_same_both_ways(
    request_: dict[str, Any], count: int
) -> None:
    request = {"n_envs": 1 if "total_timesteps" in request_ else 4, "total_timesteps": 4_096}

    in_turn, at_once = both_ways(count, **request | request_)

    assert len(in_turn) == count
    assert at_once == in_turn


def test_rendering_does_not_change_the_returns() -> None:
    request: dict[str, Any] = {"env_id": "LunarLander-v3", "algorithm": "PPO", "n_envs": 4}

    shown, at_once = both_ways(3, rendered=True, total_timesteps=4_096, **request)

    assert at_once == shown


def test_noise_and_randomization_are_those_of_the_seed_both_ways() -> None:
    request: dict[str, Any] = {"env_id": "CartPole-v1", "algorithm": "PPO", "n_envs": 4}
    request["wrappers"] = _NOISY

    in_turn, at_once = both_ways(12, disturbed=True, total_timesteps=4_096, **request)
    calm, _ = both_ways(12, total_timesteps=4_096, **request)

    assert at_once == in_turn
    assert [one.return_ for one in calm] != [one.return_ for one in in_turn]
    assert len(np.unique([one.return_ for one in in_turn])) > 1


def test_evaluations_cut_episodes_where_the_environment_has_no_time_limit(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(EvaluationLimit, "STEPS", 300)
    setup = RunConfig.from_request(RunRequest(env_id="CliffWalking-v1", algorithm="PPO")).setup()
    envs = make_evaluation_envs(setup)
    model = build_to_evaluate(setup, envs, deterministic=True)
    # Always up, into the wall.
    model.policy.action_net.bias.data[0] = 100.0
    player = Player(envs, {messages.AGENT: Policy(model, deterministic=True)})
    parallel = ParallelEpisodes(setup, model, disturbed=False)

    in_turn = list(play_episodes(player, 2, 2_000_000))
    at_once = list(parallel.play(2, seed=2_000_000, observed_by=envs))
    found = EpisodeResults(episodes=in_turn).message(1, step_limit=evaluation_limit(envs))

    assert in_turn == at_once
    assert [(one.return_, one.length, one.truncated) for one in in_turn] == [(-300, 300, True)] * 2
    assert (found.step_limit, found.cut) == (300, 2)


@pytest.mark.parametrize(
    "request_",
    [
        {"env_id": "CartPole-v1"},
        {"env_id": "GridWorld-v0"},
        {"env_id": "CliffWalking-v1", "wrappers": {"time_limit": 200}},
    ],
)
def test_environments_with_a_time_limit_keep_it_in_evaluations(request_: dict[str, Any]) -> None:
    setup = RunConfig.from_request(RunRequest(algorithm="PPO", **request_)).setup()

    assert evaluation_limit(make_evaluation_envs(setup)) is None
