import inspect
import math
from collections.abc import Callable
from typing import Any

import gymnasium as gym
import numpy as np
import pytest
from stable_baselines3.common.vec_env import DummyVecEnv

from app.worker.envs.replayable import Replayable
from app.worker.envs.vectorized.checked import BadEnvironmentError, CheckedVecEnv
from app.worker.envs.vectorized.lean_vec_env import LeanVecEnv

Observe = Callable[[int], Any]


class ScriptedEnv(gym.Env[Any, Any]):
    """Ten steps with the observations, rewards or exceptions of a test."""

    observation_space = gym.spaces.Box(-10, 10, (3,), np.float32)
    action_space = gym.spaces.Discrete(2)

    def __init__(
        self,
        observe: Observe = lambda _: np.zeros(3, np.float32),
        reward: Callable[[int], Any] = lambda _: 1.0,
        length: float = 10,
    ) -> None:
        self._observe = observe
        self._reward = reward
        self._length = length
        self._step = 0

    def reset(self, **_: Any) -> tuple[Any, dict[str, Any]]:
        self._step = 0
        return self._observe(0), {}

    def step(self, action: Any) -> tuple[Any, Any, bool, bool, dict[str, Any]]:
        self._step += 1
        reward = self._reward(self._step)
        return self._observe(self._step), reward, self._step >= self._length, False, {}


class ScriptedDictEnv(ScriptedEnv):
    """Has dict observations."""

    observation_space = gym.spaces.Dict({"place": gym.spaces.Box(-1, 1, (2,), np.float32)})  # type: ignore[assignment]


def run_steps(
    *makers: Callable[[], gym.Env[Any, Any]], steps: int = 100, components: tuple[str, ...] = ()
) -> CheckedVecEnv:
    lean = LeanVecEnv([lambda make=make: Replayable(make()) for make in makers])
    envs = CheckedVecEnv(lean, components)
    envs.reset()
    for _ in range(steps):
        envs.step(np.zeros(len(makers), np.int64))
    return envs


def at(step: int, value: Any, otherwise: Any) -> Callable[[int], Any]:
    return lambda now: value if now == step else otherwise


ZEROS = np.zeros(3, np.float32)


def test_results_of_a_valid_environment_are_unchanged() -> None:
    plain = DummyVecEnv([lambda: gym.make("CartPole-v1")] * 2)
    checked = CheckedVecEnv(LeanVecEnv([lambda: gym.make("CartPole-v1")] * 2))
    for envs in (plain, checked):
        envs.seed(3)

    assert np.array_equal(plain.reset(), checked.reset())
    for _ in range(100):
        expected, actual = plain.step(np.array([0, 1])), checked.step(np.array([0, 1]))
        for ours, theirs in zip(actual[:3], expected[:3], strict=True):
            assert np.array_equal(ours, theirs)


@pytest.mark.parametrize(
    ("value", "name"),
    [(math.nan, "NaN"), (math.inf, "infinity"), (-math.inf, "minus infinity")],
)
def test_a_non_finite_observation_is_reported_with_its_component(value: float, name: str) -> None:
    broken = np.array([0, 0, value], np.float32)

    with pytest.raises(BadEnvironmentError) as error:
        run_steps(lambda: ScriptedEnv(at(7, broken, ZEROS)), components=("x", "y", "speed"))

    assert str(error.value) == (
        f"The environment returned {name} in observation component 2 ('speed') "
        "at step 7 of an episode."
    )


def test_the_error_names_which_of_several_environments_caused_it() -> None:
    broken = np.array([math.nan, 0, 0], np.float32)

    with pytest.raises(BadEnvironmentError, match=r"component 0 at step 3 .* \(environment 2\)"):
        run_steps(ScriptedEnv, lambda: ScriptedEnv(at(3, broken, ZEROS)), ScriptedEnv)


def test_the_last_observation_of_an_episode_is_checked_too() -> None:
    broken = np.array([0, math.inf, 0], np.float32)

    with pytest.raises(BadEnvironmentError, match="infinity in observation component 1 at step 10"):
        run_steps(lambda: ScriptedEnv(at(10, broken, ZEROS)))


def test_the_first_observation_of_an_episode_is_checked_too() -> None:
    broken = np.array([0, math.nan, 0], np.float32)

    with pytest.raises(BadEnvironmentError, match="at the beginning of an episode"):
        run_steps(lambda: ScriptedEnv(at(0, broken, ZEROS)))


def test_the_error_names_the_key_of_a_dict_observation() -> None:
    fine = {"place": np.zeros(2, np.float32)}
    broken = {"place": np.array([0, math.nan], np.float32)}

    with pytest.raises(BadEnvironmentError, match="component 1 of 'place' at step 4"):
        run_steps(lambda: ScriptedDictEnv(at(4, broken, fine)))


@pytest.mark.parametrize(("value", "name"), [(math.nan, "NaN"), (-math.inf, "minus infinity")])
def test_a_non_finite_reward_is_reported(value: float, name: str) -> None:
    with pytest.raises(BadEnvironmentError) as error:
        run_steps(lambda: ScriptedEnv(reward=at(5, value, 1.0)))

    assert str(error.value) == (
        f"The environment returned {name} as reward at step 5 of an episode."
    )


def test_a_wrong_shape_is_reported_with_the_right_one() -> None:
    with pytest.raises(BadEnvironmentError) as error:
        run_steps(lambda: ScriptedEnv(at(2, np.zeros(5, np.float32), ZEROS)))

    assert str(error.value) == (
        "The environment returned an observation of shape (5,) at step 2 of an episode; "
        "its observation space says (3,)."
    )


def test_a_wrong_shape_that_numpy_would_broadcast_is_detected_at_the_episodes_end() -> None:
    with pytest.raises(BadEnvironmentError, match=r"shape \(1,\) at step 10"):
        run_steps(lambda: ScriptedEnv(lambda _: np.zeros(1, np.float32)))


def test_a_reward_of_a_wrong_type_is_reported() -> None:
    with pytest.raises(BadEnvironmentError, match=r"from step at step 1 .* \(TypeError: "):
        run_steps(lambda: ScriptedEnv(reward=lambda _: None))


def _divide(step: int) -> float:
    return 1 / (6 - step)


def test_an_exception_in_step_is_reported_with_its_location() -> None:
    with pytest.raises(BadEnvironmentError) as error:
        run_steps(lambda: ScriptedEnv(reward=_divide))

    line = inspect.getsourcelines(_divide)[1] + 1
    assert str(error.value) == (
        "The environment raised ZeroDivisionError: division by zero at step 6 of an episode "
        f"(test_checked.py, line {line}, in _divide)."
    )
    assert isinstance(error.value.__cause__, ZeroDivisionError)


def test_an_exception_in_a_library_is_reported_with_the_line_that_called_it() -> None:
    def observe(step: int) -> Any:
        return np.zeros(3, np.float32) if step < 4 else np.linalg.inv(np.zeros((2, 2)))

    with pytest.raises(BadEnvironmentError, match=r"LinAlgError: .* in observe\)"):
        run_steps(lambda: ScriptedEnv(observe))


def test_an_exception_in_reset_is_reported() -> None:
    def observe(_: int) -> Any:
        raise FileNotFoundError("no map")

    with pytest.raises(BadEnvironmentError, match="FileNotFoundError: no map at the beginning"):
        run_steps(lambda: ScriptedEnv(observe))


def test_a_memory_error_is_passed_on_unchanged() -> None:
    def observe(step: int) -> Any:
        if step:
            raise MemoryError
        return ZEROS

    with pytest.raises(MemoryError):
        run_steps(lambda: ScriptedEnv(observe))
