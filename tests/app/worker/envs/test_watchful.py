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
from app.worker.envs.vectorized.stepping import LeanVecEnv

Observe = Callable[[int], Any]


class Walk(gym.Env[Any, Any]):
    """Ten steps of whatever a test wants to be observed, rewarded or raised."""

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


class Seeing(Walk):
    """Observes a dictionary."""

    observation_space = gym.spaces.Dict({"place": gym.spaces.Box(-1, 1, (2,), np.float32)})  # type: ignore[assignment]


def walk(
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


NOTHING = np.zeros(3, np.float32)


def test_a_well_behaved_environment_passes_unchanged() -> None:
    plain = DummyVecEnv([lambda: gym.make("CartPole-v1")] * 2)
    watched = CheckedVecEnv(LeanVecEnv([lambda: gym.make("CartPole-v1")] * 2))
    for envs in (plain, watched):
        envs.seed(3)

    assert np.array_equal(plain.reset(), watched.reset())
    for _ in range(100):
        expected, got = plain.step(np.array([0, 1])), watched.step(np.array([0, 1]))
        for ours, theirs in zip(got[:3], expected[:3], strict=True):
            assert np.array_equal(ours, theirs)


@pytest.mark.parametrize(
    ("value", "name"),
    [(math.nan, "NaN"), (math.inf, "infinity"), (-math.inf, "minus infinity")],
)
def test_an_observation_that_is_not_finite_is_named(value: float, name: str) -> None:
    broken = np.array([0, 0, value], np.float32)

    with pytest.raises(BadEnvironmentError) as error:
        walk(lambda: Walk(at(7, broken, NOTHING)), components=("x", "y", "speed"))

    assert str(error.value) == (
        f"The environment returned {name} in observation component 2 ('speed') "
        "at step 7 of an episode."
    )


def test_which_of_several_environments_it_was_is_told() -> None:
    broken = np.array([math.nan, 0, 0], np.float32)

    with pytest.raises(BadEnvironmentError, match=r"component 0 at step 3 .* \(environment 2\)"):
        walk(Walk, lambda: Walk(at(3, broken, NOTHING)), Walk)


def test_the_last_observation_of_an_episode_is_looked_at_too() -> None:
    broken = np.array([0, math.inf, 0], np.float32)

    with pytest.raises(BadEnvironmentError, match="infinity in observation component 1 at step 10"):
        walk(lambda: Walk(at(10, broken, NOTHING)))


def test_the_first_observation_of_an_episode_is_looked_at_too() -> None:
    broken = np.array([0, math.nan, 0], np.float32)

    with pytest.raises(BadEnvironmentError, match="at the beginning of an episode"):
        walk(lambda: Walk(at(0, broken, NOTHING)))


def test_a_part_of_a_dictionary_is_named() -> None:
    fine = {"place": np.zeros(2, np.float32)}
    broken = {"place": np.array([0, math.nan], np.float32)}

    with pytest.raises(BadEnvironmentError, match="component 1 of 'place' at step 4"):
        walk(lambda: Seeing(at(4, broken, fine)))


@pytest.mark.parametrize(("value", "name"), [(math.nan, "NaN"), (-math.inf, "minus infinity")])
def test_a_reward_that_is_not_finite_is_named(value: float, name: str) -> None:
    with pytest.raises(BadEnvironmentError) as error:
        walk(lambda: Walk(reward=at(5, value, 1.0)))

    assert str(error.value) == (
        f"The environment returned {name} as reward at step 5 of an episode."
    )


def test_a_wrong_shape_is_told_beside_the_right_one() -> None:
    with pytest.raises(BadEnvironmentError) as error:
        walk(lambda: Walk(at(2, np.zeros(5, np.float32), NOTHING)))

    assert str(error.value) == (
        "The environment returned an observation of shape (5,) at step 2 of an episode; "
        "its observation space says (3,)."
    )


def test_a_wrong_shape_that_numpy_would_spread_out_is_found_at_the_end() -> None:
    with pytest.raises(BadEnvironmentError, match=r"shape \(1,\) at step 10"):
        walk(lambda: Walk(lambda _: np.zeros(1, np.float32)))


def test_what_no_reward_can_be_is_told() -> None:
    with pytest.raises(BadEnvironmentError, match=r"from step at step 1 .* \(TypeError: "):
        walk(lambda: Walk(reward=lambda _: None))


def _divide(step: int) -> float:
    return 1 / (6 - step)


def test_an_exception_in_step_is_told_with_its_place() -> None:
    with pytest.raises(BadEnvironmentError) as error:
        walk(lambda: Walk(reward=_divide))

    line = inspect.getsourcelines(_divide)[1] + 1
    assert str(error.value) == (
        "The environment raised ZeroDivisionError: division by zero at step 6 of an episode "
        f"(test_watchful.py, line {line}, in _divide)."
    )
    assert isinstance(error.value.__cause__, ZeroDivisionError)


def test_an_exception_in_a_library_is_told_with_the_line_that_called_it() -> None:
    def observe(step: int) -> Any:
        return np.zeros(3, np.float32) if step < 4 else np.linalg.inv(np.zeros((2, 2)))

    with pytest.raises(BadEnvironmentError, match=r"LinAlgError: .* in observe\)"):
        walk(lambda: Walk(observe))


def test_an_exception_in_reset_is_told() -> None:
    def observe(_: int) -> Any:
        raise FileNotFoundError("no map")

    with pytest.raises(BadEnvironmentError, match="FileNotFoundError: no map at the beginning"):
        walk(lambda: Walk(observe))


def test_a_lack_of_memory_stays_one() -> None:
    def observe(step: int) -> Any:
        if step:
            raise MemoryError
        return NOTHING

    with pytest.raises(MemoryError):
        walk(lambda: Walk(observe))
