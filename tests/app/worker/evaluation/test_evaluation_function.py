"""Custom evaluation code: its arguments, and the results that are allowed."""

from typing import Any

import gymnasium as gym
import numpy as np
import pytest
from stable_baselines3.common.vec_env import DummyVecEnv

from app.protocol.user_code import UserCodeError
from app.worker.evaluation import episode_recorder
from app.worker.evaluation.episode_recorder import EpisodeRecorder, PlayedEpisode
from app.worker.evaluation.evaluation_code import EvaluationFunction
from tests.app.worker.evaluation.test_evaluation_frames import RenderingEnv


def episode(**values: Any) -> PlayedEpisode:
    usual: dict[str, Any] = {
        "observations": np.zeros((3, 4)),
        "actions": np.array([0, 1]),
        "rewards": np.array([1.0, 2.0]),
        "infos": [{}, {"is_success": True}],
        "terminated": True,
        "truncated": False,
        "seed": 7,
    }
    return PlayedEpisode(**(usual | values))


def test_an_episode_has_observations_actions_rewards_and_infos() -> None:
    code = """
def evaluate(episode):
    return {
        "highest": episode.observations.max(),
        "right": (episode.actions == 1).mean(),
        "return": episode.return_,
        "length": episode.length,
        "ended": episode.terminated and not episode.truncated,
        "success": episode.infos[-1]["is_success"],
        "seed": episode.seed,
    }
"""

    assert EvaluationFunction(code).evaluate(episode()) == {
        "highest": 0.0,
        "right": 0.5,
        "return": 3.0,
        "length": 2.0,
        "ended": 1.0,
        "success": 1.0,
        "seed": 7.0,
    }


def test_a_single_number_is_called_value() -> None:
    assert EvaluationFunction("def evaluate(episode): return episode.length").evaluate(
        episode()
    ) == {"value": 2}


@pytest.mark.parametrize(
    ("body", "complaint"),
    [
        ("return None", "line 2: evaluate() returned None; it must be a number."),
        ("return {'a': 'x'}", "line 2: evaluate() returned a value of type str as 'a'"),
        ("return {'a': float('nan')}", "line 2: evaluate() returned NaN as 'a'"),
        ("return {'a': 1e999}", "line 2: evaluate() returned infinity as 'a'"),
        ("return {}", "line 2: evaluate() returned 0 numbers; from 1 to 16 are allowed"),
        ("return {n: 1 for n in 'abcdefghijklmnopq'}", "line 2: evaluate() returned 17 numbers"),
        ("return {'<b>': 1}", "line 2: evaluate() returned the name '<b>'"),
        ("return {3: 1}", "line 2: evaluate() returned the name '3'"),
        ("x = 0\n    return 1 / x", "line 3: ZeroDivisionError: division by zero"),
        ("raise SystemExit", "line 2: it raised SystemExit"),
        ("return episode.wind", "line 2: AttributeError"),
    ],
)
def test_an_unusable_result_is_rejected_with_a_sentence_and_the_line(
    body: str, complaint: str
) -> None:
    function = EvaluationFunction(f"def evaluate(episode):\n    {body}")

    with pytest.raises(UserCodeError, match=r"evaluate\.py, line") as refused:
        function.evaluate(episode())

    assert complaint in str(refused.value)
    assert refused.value.line == int(complaint.partition(":")[0].removeprefix("line "))


def test_all_episodes_have_the_same_names() -> None:
    function = EvaluationFunction("def evaluate(episode): return {'ab'[episode.seed % 2]: 1}")
    function.evaluate(episode(seed=0))

    with pytest.raises(UserCodeError, match=r"for the first episode \(a, b\)"):
        function.evaluate(episode(seed=1))


class Counting(RenderingEnv):
    """Observes the step number in a reused array; ends after three steps."""

    def __init__(self) -> None:
        super().__init__(lambda _: None)
        self.observation_space = gym.spaces.Box(0, 10, (1,))
        self._seen = np.zeros(1, np.float32)

    def reset(self, **_: Any) -> tuple[Any, dict[str, Any]]:
        self._seen[0] = 0
        return self._seen, {}

    def step(self, _: Any) -> tuple[Any, float, bool, bool, dict[str, Any]]:
        self._seen[0] += 1
        return self._seen, 0.5, bool(self._seen[0] == 3), False, {"at": int(self._seen[0])}


def play(envs: DummyVecEnv) -> None:
    envs.reset()
    for action in (0, 1, 0):
        envs.step(np.array([action]))


def test_an_episode_is_complete_although_the_next_one_has_begun() -> None:
    envs = DummyVecEnv([Counting])
    seen = EpisodeRecorder.insert_into(envs)

    play(envs)

    played = seen.last_episode(seed=1)
    assert played.observations.ravel().tolist() == [0, 1, 2, 3]
    assert played.actions.tolist() == [0, 1, 0]
    assert (played.return_, played.length) == (1.5, 3)
    assert (played.terminated, played.truncated) == (True, False)
    assert [info["at"] for info in played.infos] == [1, 2, 3]


def test_a_too_long_episode_is_rejected(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(episode_recorder, "MAX_STEPS", 2)
    envs = DummyVecEnv([Counting])
    seen = EpisodeRecorder.insert_into(envs)

    play(envs)

    with pytest.raises(UserCodeError, match="at most 2 steps"):
        seen.last_episode(seed=1)
