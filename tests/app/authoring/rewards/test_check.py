"""Reward checks on recorded episodes, in real workers."""

import asyncio
from collections.abc import Callable
from pathlib import Path
from typing import Any

import gymnasium as gym
import numpy as np
import pytest

from app.authoring.rewards.dry_run import DryRun
from app.authoring.rewards.ranking import make_report
from app.authoring.rewards.recordings import Recordings
from app.authoring.rewards.report import RewardReport
from app.authoring.rewards.templates.catalogue import templates_for
from app.catalog.environments.catalogue import ENVIRONMENTS
from app.code_check.problems import Problem
from app.protocol.messages import RewardChecked
from app.worker.envs.custom_reward import CustomReward
from app.worker.envs.reward_functions import RewardFunction
from app.worker.trajectories.trajectories import RecordedEpisode, unpack
from app.workers.pool import WorkerPool
from storage.files.lab_folder import LabFolder

pytestmark = pytest.mark.slow

HEAD = "def reward(obs, action, next_obs, reward, terminated, truncated, info):\n"


class Checks:
    """The part of `RewardLab` after the static check, without access control."""

    def __init__(self, folder: Path) -> None:
        self.pool = WorkerPool(memory_mb=2_048, side_slots=2)
        self.recordings = Recordings(LabFolder(folder), self.pool)

    async def check(self, env_id: str, code: str) -> RewardChecked | Problem:
        spec = ENVIRONMENTS[env_id]
        recording = await self.recordings.get(spec, {})
        return await DryRun(self.pool).of(code, spec, recording)

    async def report(self, env_id: str, code: str) -> RewardReport:
        checked = await self.check(env_id, code)
        assert isinstance(checked, RewardChecked), checked
        return make_report([], checked, ENVIRONMENTS[env_id])

    async def problem(self, body: str, *, before: str = "") -> Problem:
        checked = await self.check("CartPole-v1", f"{before}{HEAD}    {body}\n")
        assert isinstance(checked, Problem), checked
        return checked


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder that all tests share, so that episodes are recorded once."""
    return tmp_path_factory.mktemp("recorded")


@pytest.fixture
def checks(folder: Path) -> Checks:
    return Checks(folder)


CLEAN = {
    "CartPole's own": ("CartPole-v1", "return reward"),
    "one for each step": ("CartPole-v1", "return 1.0"),
    "CartPole in the middle": ("CartPole-v1", "return 1.0 - abs(next_obs.cart_position) / 2.4"),
    "the lander's own": ("LunarLander-v3", "return reward"),
    "the lander with dear fuel": ("LunarLander-v3", "return reward - 0.1 * (action == 2)"),
    "the car's own": ("MountainCar-v0", "return reward"),
    "the car's height": (
        "MountainCar-v0",
        "return -1.0 + 10.0 * (next_obs.position - obs.position)",
    ),
    "the pendulum's own": ("Pendulum-v1", "return reward"),
    "the grid's own": ("GridWorld-v0", "return reward"),
    "the best lever": ("GaussianBandit-v0", "return reward"),
}

HACKABLE = {
    "pain until it falls": ("CartPole-v1", "return -abs(next_obs.cart_position)", "action 0"),
    "to the right": ("CartPole-v1", "return next_obs.cart_velocity", "action 1"),
    "staying in the air": ("LunarLander-v3", "return float(next_obs.height > 0.3)", "hovering"),
    "any step at all": ("LunarLander-v3", "return 1.0", "hovering"),
    "an end, however": ("LunarLander-v3", "return -1.0", "ending early"),
    "staying in the valley": ("MountainCar-v0", "return -abs(next_obs.position + 0.5)", "doing"),
    "no effort": ("Pendulum-v1", "return -float(action[0]) ** 2", "doing nothing"),
    "walking to the right": ("GridWorld-v0", "return float(action == 1)", "action 1"),
}


@pytest.mark.parametrize("case", CLEAN)
async def test_a_clean_reward_is_not_called_hackable(checks: Checks, case: str) -> None:
    env_id, body = CLEAN[case]
    report = await checks.report(env_id, f"{HEAD}    {body}\n")
    assert report.hackable_by == []
    assert report.rank_agreement is not None
    assert report.rank_agreement > 0.4


@pytest.mark.parametrize("case", HACKABLE)
async def test_a_hackable_reward_is_detected(checks: Checks, case: str) -> None:
    env_id, body, probe = HACKABLE[case]
    report = await checks.report(env_id, f"{HEAD}    {body}\n")
    assert any(name.startswith(probe) for name in report.hackable_by), report.hackable_by
    assert any(finding.message.startswith("Hackable by: ") for finding in report.findings)


async def test_terms_are_described_separately(checks: Checks) -> None:
    body = "return {'alive': 1.0, 'end': -10.0 if terminated else 0.0}"
    report = await checks.report("CartPole-v1", f"{HEAD}    {body}\n")
    alive, end = report.terms
    assert (alive.name, alive.mean, alive.std, alive.outliers) == ("alive", 1.0, 0.0, 0)
    assert (end.name, end.min, end.max) == ("end", -10.0, 0.0)
    assert alive.share + end.share == pytest.approx(1.0)
    assert [sum(term.histogram) for term in report.terms] == [report.steps] * 2
    assert 0 < end.outliers == end.histogram[0] < report.steps
    assert report.microseconds is not None
    assert report.step_share is not None
    assert 0 < report.step_share < 1


async def test_the_state_of_a_reward_class_lasts_one_episode(checks: Checks) -> None:
    code = (
        "class Reward:\n    def reset(self):\n        self.steps = 0\n\n"
        "    def __call__(self, obs, action, next_obs, reward, terminated, truncated, info):\n"
        "        self.steps += 1\n        return float(self.steps)\n"
    )
    report = await checks.report("CartPole-v1", code)
    (term,) = report.terms
    assert (term.min, term.max) == (1.0, 500.0)


async def test_the_short_form_is_called_with_two_arguments(checks: Checks) -> None:
    report = await checks.report("CartPole-v1", "def reward_function(obs, action):\n    return 1\n")
    assert report.rank_agreement == 1.0


async def test_trajectories_name_their_origin(checks: Checks) -> None:
    report = await checks.report("LunarLander-v3", f"{HEAD}    return reward\n")
    good = next(one for one in report.trajectories if one.name.startswith("good"))
    assert good.origin == "the heuristic that Gymnasium provides"
    assert good.mean_return == pytest.approx(good.true_return)
    assert good.true_return > 200


FAULTS: dict[str, tuple[str, str, int, str]] = {
    "an exception": ("", "return 1 / 0", 2, "ZeroDivisionError"),
    "None": ("", "return None", 2, "returned None"),
    "NaN": ("", "return float('nan')", 2, "NaN"),
    "a list": ("", "return [1.0]", 2, "type list"),
    "while it is loaded": ("raise ValueError('no')\n", "return 1.0", 1, "no"),
    "memory": ("", "return len(bytearray(10**11))", 2, "memory"),
    "a flood": ("", "return float(len(print('x' * 10**6) or ''))", 2, "printed more than"),
    "files": ("", "return float(len(open('/etc/passwd').read()))", 2, "does not allow"),
    "an exit": ("import sys\n", "sys.exit(1)", 3, "SystemExit"),
    "a writable observation": ("", "obs[0] = 1.0", 2, "read-only"),
}


@pytest.mark.parametrize("case", FAULTS)
async def test_a_fault_is_reported_with_its_line(checks: Checks, case: str) -> None:
    before, body, line, text = FAULTS[case]
    problem = await checks.problem(body, before=before)
    assert (problem.line, text in problem.message) == (line, True), problem


async def test_calls_that_hang_are_ended_and_reported_with_their_line(checks: Checks) -> None:
    both = (checks.problem("while True: pass"), checks.problem("return sum(range(10**13))"))
    for problem in await asyncio.gather(*both):
        assert (problem.line, "longer than 5 s" in problem.message) == (2, True), problem


async def test_code_that_ends_the_worker_is_reported_at_the_first_line_of_the_reward(
    checks: Checks,
) -> None:
    problem = await checks.problem("os._exit(3)", before="import os\n\n")
    assert problem.line == 3
    assert problem.message == (
        "The code ended the worker that ran it: it ended by itself (exit code 3)."
    )


async def test_a_reward_that_crashes_python_is_reported_with_its_line(checks: Checks) -> None:
    problem = await checks.problem("ctypes.string_at(0)", before="import ctypes\n")
    assert (problem.line, "it crashed the worker" in problem.message) == (3, True), problem


async def test_episodes_are_recorded_once(checks: Checks, monkeypatch: pytest.MonkeyPatch) -> None:
    spec = ENVIRONMENTS["CartPole-v1"]
    first = await checks.recordings.get(spec, {})
    refuse: Callable[..., None] = lambda: pytest.fail("recorded again")  # noqa: E731
    monkeypatch.setattr(checks.pool, "start", refuse)
    assert await checks.recordings.get(spec, {}) == first
    assert not first.startswith(b"\x80")


async def test_only_the_newest_recordings_are_kept(tmp_path: Path) -> None:
    folder = LabFolder(tmp_path)
    for key in ("aa", "bb", "cc"):
        folder.save_transitions(key, key.encode(), keep=2)
    assert [folder.read_transitions(key) for key in ("aa", "bb", "cc")] == [None, b"bb", b"cc"]


class Replayed(gym.Env[Any, Any]):
    """Replays a recorded episode, whatever the actions."""

    def __init__(self, episode: RecordedEpisode) -> None:
        self.episode = episode
        self.observation_space = gym.spaces.Box(-np.inf, np.inf, (4,), np.float32)
        self.action_space = gym.spaces.Discrete(2)

    def reset(self, **_: Any) -> tuple[Any, dict[str, Any]]:
        super().reset()
        self.step_number = 0
        return self.episode.observation_at(0), {}

    def step(self, action: Any) -> tuple[Any, float, bool, bool, dict[str, Any]]:
        self.step_number += 1
        is_last = self.step_number == self.episode.length
        reward = float(self.episode.rewards[self.step_number - 1])
        return self.episode.observation_at(self.step_number), reward, False, is_last, {}


async def test_a_check_computes_the_same_rewards_as_training(checks: Checks) -> None:
    code = HEAD + "    return {'a': next_obs.pole_angle - obs[2], 'b': np.float32(0.1) * action}\n"
    code = f"import numpy as np\n{code}"
    checked = await checks.check("CartPole-v1", code)
    assert isinstance(checked, RewardChecked)
    recording = unpack(await checks.recordings.get(ENVIRONMENTS["CartPole-v1"], {}))
    episode = next(group for group in recording.groups if group.kind == "good").episodes[0]
    names = [component.attribute for component in ENVIRONMENTS["CartPole-v1"].observed]
    env = CustomReward(Replayed(episode), RewardFunction(code, names))
    env.reset()
    total = sum(float(env.step(action)[1]) for action in episode.actions)
    scored = next(group for group in checked.groups if group.kind == "good")
    assert scored.returns[0] == pytest.approx(total, abs=1e-9)


@pytest.mark.parametrize(
    "env_id",
    [
        "CartPole-v1",
        "LunarLander-v3",
        "LunarLanderContinuous-v3",
        "BipedalWalker-v3",
        "Acrobot-v1",
        "MountainCar-v0",
        "MountainCarContinuous-v0",
        "Pendulum-v1",
        "GridWorld-v0",
        "FrozenLake-v1",
        "FrozenLake8x8-v1",
        "CliffWalking-v1",
        "Taxi-v4",
        "Blackjack-v1",
        "MiniGrid-DoorKey-5x5-v0",
        "MiniGrid-LavaCrossingS9N1-v0",
        "BernoulliBandit-v0",
        "ALE/Breakout-v5",
    ],
)
async def test_every_template_passes(checks: Checks, env_id: str) -> None:
    for template in templates_for(ENVIRONMENTS[env_id]):
        report = await checks.report(env_id, template.code)
        assert report.hackable_by == [], template.name
        if (env_id, template.name) == ("ALE/Breakout-v5", "Sparse"):
            # No recorded game reaches its end, at which this reward is given.
            assert report.rank_agreement is None
            continue
        assert report.rank_agreement is not None
        assert report.rank_agreement > 0.2, template.name
