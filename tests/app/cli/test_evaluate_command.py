import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import gymnasium as gym
import numpy as np
import pytest
from stable_baselines3 import PPO
from stable_baselines3.common.vec_env import DummyVecEnv, VecNormalize

from tests.app.accounts.users import ApiUser
from tests.app.cli.conftest import TrainedLab
from tests.lab_server import LabServer, run_main, wait_until

pytestmark = pytest.mark.slow


def evaluations(run: Path) -> dict[str, dict[str, Any]]:
    return {path.name: json.loads(path.read_text()) for path in run.glob("evaluations/*.json")}


def evaluate(trained: TrainedLab, *flags: str) -> tuple[str, dict[str, Any]]:
    """Evaluate the first run; return the command's output and the stored evaluation."""
    run = trained.folder / trained.run_ids[0]
    before = set(evaluations(run))
    code, output = trained.command("evaluate", run.name[:12], *flags)
    assert code == 0, output
    (new,) = [evaluation for name, evaluation in evaluations(run).items() if name not in before]
    return output, new


def returns_by_plain_sb3(run: Path, seeds: list[int]) -> list[float]:
    """Evaluate the run's files with nothing but Stable-Baselines3."""
    envs = VecNormalize.load(
        str(run / "vecnormalize.pkl"), DummyVecEnv([lambda: gym.make("CartPole-v1")])
    )
    envs.training = envs.norm_reward = False
    model = PPO.load(run / "model.zip", device="cpu")
    return [episode_return(model, envs, seed) for seed in seeds]


def episode_return(model: PPO, envs: VecNormalize, seed: int) -> float:
    envs.seed(seed)
    observation, total, is_over = envs.reset(), 0.0, False
    while not is_over:
        action, _ = model.predict(observation, deterministic=True)  # type: ignore[arg-type]
        observation, rewards, dones, _ = envs.step(action)
        total, is_over = total + float(rewards[0]), bool(dones[0])
    return total


def test_an_evaluation_applies_the_normalization_of_the_training(trained: TrainedLab) -> None:
    run = trained.folder / trained.run_ids[0]

    _, stored = evaluate(trained, "--episodes", "6", "--seed", "42")

    assert stored["seeds"] == [42, 43, 44, 45, 46, 47]
    assert stored["returns"] == returns_by_plain_sb3(run, stored["seeds"])


def test_the_statistics_of_an_evaluation_match_its_returns(trained: TrainedLab) -> None:
    output, stored = evaluate(trained, "--episodes", "6")

    returns = np.array(stored["returns"])
    assert stored["mean_return"] == pytest.approx(returns.mean())
    assert stored["std_return"] == pytest.approx(returns.std(ddof=1))
    assert stored["ci95"][0] <= stored["mean_return"] <= stored["ci95"][1]
    assert stored["min"] <= stored["mean_return"] <= stored["max"]
    assert stored["terminations"] == {"terminated": 6, "truncated": 0}
    assert stored["left_out"] == ["action_noise"]
    assert f"mean return   {returns.mean():,.2f}" in output
    assert f"median        {np.median(returns):,.2f}" in output
    assert "ended 0 of 6 episodes" in output
    assert "left out      action noise" in output


def test_stochastic_actions_depend_only_on_the_seed(
    trained: TrainedLab,
) -> None:
    stochastic = ("--stochastic", "--episodes", "4", "--seed")

    first = evaluate(trained, *stochastic, "5")[1]
    repeated = evaluate(trained, *stochastic, "5")[1]
    other = evaluate(trained, *stochastic, "500")[1]

    assert first["returns"] == repeated["returns"]
    assert first["ci95"] == repeated["ci95"]
    assert first["returns"] != other["returns"]


def test_a_checkpoint_is_evaluated_like_the_policy_saved_with_it(trained: TrainedLab) -> None:
    run = trained.folder / trained.run_ids[0]
    newest = max(int(path.stem) for path in run.glob("checkpoints/*.zip"))

    of_policy = evaluate(trained, "--episodes", "3")[1]
    of_newest = evaluate(trained, "--episodes", "3", "--checkpoint", str(newest))[1]
    of_first = evaluate(trained, "--episodes", "3", "--checkpoint", "0")[1]

    assert of_newest["returns"] == of_policy["returns"]
    assert of_newest["timesteps"] == of_policy["timesteps"] == newest
    assert of_first["returns"] != of_policy["returns"]


def test_a_single_episode_has_no_spread_and_can_be_evaluated_by_custom_code(
    trained: TrainedLab, tmp_path: Path
) -> None:
    code = tmp_path / "judge.py"
    code.write_text("def evaluate(episode):\n    return {'twice': 2 * episode.length}\n")

    output, stored = evaluate(trained, "--episodes", "1", "--code", str(code))

    assert stored["custom"] == {"twice": 2 * stored["lengths"][0]}
    assert f"twice         {2 * stored['lengths'][0]:,.2f}" in output
    assert stored["std_return"] is None
    assert stored["ci95"] is None
    assert "95 % interval none: too few or equal returns" in output


def test_missing_or_invalid_code_is_refused(trained: TrainedLab, tmp_path: Path) -> None:
    code = tmp_path / "judge.py"

    missing = trained.command("evaluate", trained.run_ids[0], "--code", str(code))
    code.write_text("def evaluate(episode) return 1")
    broken = trained.command("evaluate", trained.run_ids[0], "--code", str(code))

    assert (missing[0], broken[0]) == (2, 2)
    assert "can't be read: No such file or directory." in missing[1]
    assert "code, line 1: Python can't read this" in broken[1]


@pytest.mark.parametrize(
    ("wanted", "sentence"),
    [("best", "has no best policy"), ("7", "--checkpoint must be best or a step of which run")],
)
def test_a_missing_checkpoint_is_refused(trained: TrainedLab, wanted: str, sentence: str) -> None:
    code, output = trained.command("evaluate", trained.run_ids[0], "--checkpoint", wanted)

    assert code == 2
    assert sentence in output


def test_a_video_is_recorded_although_the_owner_has_used_up_their_disk_quota(
    start_server: Callable[..., LabServer],
) -> None:
    settings = {"RL_LAB_AUTH": "on", "RL_LAB_BCRYPT_COST": "4"}
    lab = start_server(**settings)
    owner = ApiUser(lab, "root@example.org").register(name="Root")
    run_id = owner.create_run(start=True)
    wait_until(lambda: owner.api.get(f"/runs/{run_id}").json()["status"] == "completed")
    owner.api.patch(f"/admin/people/{owner.me['id']}", json={"disk_mb": 0})
    lab.terminate()

    flags = ("evaluate", run_id, "--episodes", "1", "--record")
    code, output = run_main(*flags, RL_LAB_RUNS=str(lab.folder), **settings)

    assert code == 0, output
    assert "saved with the run" in output


def test_a_final_evaluation_is_the_score_of_the_run(trained: TrainedLab) -> None:
    output, stored = evaluate(trained, "--final")

    assert "20 episodes of the policy" in output
    assert "final seeds from 3,000,000" in output
    _, listed = trained.command("runs", "--json")
    (run,) = [one for one in json.loads(listed) if one["id"] == trained.run_ids[0]]
    assert (run["score"], run["score_kind"]) == (stored["mean_return"], "final_evaluation")


def test_final_seeds_and_a_seed_exclude_each_other(trained: TrainedLab) -> None:
    code, output = trained.command("evaluate", trained.run_ids[0], "--final", "--seed", "7")

    assert code == 2
    assert "--final and --seed exclude each other" in output
