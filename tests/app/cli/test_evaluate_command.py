import json
from pathlib import Path
from typing import Any

import gymnasium as gym
import numpy as np
import pytest
from stable_baselines3 import PPO
from stable_baselines3.common.vec_env import DummyVecEnv, VecNormalize

from tests.app.cli.conftest import TrainedLab

pytestmark = pytest.mark.slow


def evaluations(run: Path) -> dict[str, dict[str, Any]]:
    return {path.name: json.loads(path.read_text()) for path in run.glob("evaluations/*.json")}


def evaluate(trained: TrainedLab, *flags: str) -> tuple[str, dict[str, Any]]:
    """Return what the command said about the first run, and what it stored."""
    run = trained.folder / trained.run_ids[0]
    before = set(evaluations(run))
    code, output = trained.command("evaluate", run.name[:12], *flags)
    assert code == 0, output
    (new,) = [found for name, found in evaluations(run).items() if name not in before]
    return output, new


def returns_by_plain_sb3(run: Path, seeds: list[int]) -> list[float]:
    """Play the delivered files with nothing but Stable-Baselines3."""
    envs = VecNormalize.load(
        str(run / "vecnormalize.pkl"), DummyVecEnv([lambda: gym.make("CartPole-v1")])
    )
    envs.training = envs.norm_reward = False
    model = PPO.load(run / "model.zip", device="cpu")
    return [one_return(model, envs, seed) for seed in seeds]


def one_return(model: PPO, envs: VecNormalize, seed: int) -> float:
    envs.seed(seed)
    observation, total, is_over = envs.reset(), 0.0, False
    while not is_over:
        action, _ = model.predict(observation, deterministic=True)  # type: ignore[arg-type]
        observation, rewards, dones, _ = envs.step(action)
        total, is_over = total + float(rewards[0]), bool(dones[0])
    return total


def test_an_evaluation_applies_the_scaling_of_the_training(trained: TrainedLab) -> None:
    run = trained.folder / trained.run_ids[0]

    _, found = evaluate(trained, "--episodes", "6", "--seed", "42")

    assert found["seeds"] == [42, 43, 44, 45, 46, 47]
    assert found["returns"] == returns_by_plain_sb3(run, found["seeds"])


def test_an_evaluation_says_what_the_returns_say(trained: TrainedLab) -> None:
    output, found = evaluate(trained, "--episodes", "6")

    returns = np.array(found["returns"])
    assert found["mean_return"] == pytest.approx(returns.mean())
    assert found["std_return"] == pytest.approx(returns.std(ddof=1))
    assert found["min"] <= found["ci95"][0] <= found["mean_return"] <= found["ci95"][1]
    assert found["ci95"][1] <= found["max"]
    assert found["terminations"] == {"terminated": 6, "truncated": 0}
    assert found["left_out"] == ["action_noise"]
    assert f"mean return   {returns.mean():,.2f}" in output
    assert f"median        {np.median(returns):,.2f}" in output
    assert "ended 0 of 6 episodes" in output
    assert "left out      action noise" in output


def test_drawn_actions_are_the_same_for_the_same_seed_and_others_for_another(
    trained: TrainedLab,
) -> None:
    drawn = ("--stochastic", "--episodes", "4", "--seed")

    first = evaluate(trained, *drawn, "5")[1]
    again = evaluate(trained, *drawn, "5")[1]
    other = evaluate(trained, *drawn, "500")[1]

    assert first["returns"] == again["returns"]
    assert first["ci95"] == again["ci95"]
    assert first["returns"] != other["returns"]


def test_a_checkpoint_is_evaluated_like_the_policy_taken_with_it(trained: TrainedLab) -> None:
    run = trained.folder / trained.run_ids[0]
    newest = max(int(path.stem) for path in run.glob("checkpoints/*.zip"))

    of_policy = evaluate(trained, "--episodes", "3")[1]
    of_newest = evaluate(trained, "--episodes", "3", "--checkpoint", str(newest))[1]
    of_first = evaluate(trained, "--episodes", "3", "--checkpoint", "0")[1]

    assert of_newest["returns"] == of_policy["returns"]
    assert of_newest["timesteps"] == of_policy["timesteps"] == newest
    assert of_first["returns"] != of_policy["returns"]


def test_a_single_episode_has_no_spread_and_is_judged_by_code_too(
    trained: TrainedLab, tmp_path: Path
) -> None:
    judge = tmp_path / "judge.py"
    judge.write_text("def evaluate(episode):\n    return {'twice': 2 * episode.length}\n")

    output, found = evaluate(trained, "--episodes", "1", "--code", str(judge))

    assert found["custom"] == {"twice": 2 * found["lengths"][0]}
    assert f"twice         {2 * found['lengths'][0]:,.2f}" in output
    assert found["std_return"] is None
    assert found["ci95"] is None
    assert "95 % interval - to -" in output


def test_code_that_can_not_work_is_refused(trained: TrainedLab, tmp_path: Path) -> None:
    judge = tmp_path / "judge.py"

    missing = trained.command("evaluate", trained.run_ids[0], "--code", str(judge))
    judge.write_text("def evaluate(episode) return 1")
    broken = trained.command("evaluate", trained.run_ids[0], "--code", str(judge))

    assert (missing[0], broken[0]) == (2, 2)
    assert "can't be read: No such file or directory." in missing[1]
    assert "code, line 1: Python can't read this" in broken[1]


@pytest.mark.parametrize(
    ("wanted", "sentence"),
    [("best", "has no best policy"), ("7", "--checkpoint must be best or a step of which run")],
)
def test_a_checkpoint_that_isn_t_there_is_refused(
    trained: TrainedLab, wanted: str, sentence: str
) -> None:
    code, output = trained.command("evaluate", trained.run_ids[0], "--checkpoint", wanted)

    assert code == 2
    assert sentence in output
