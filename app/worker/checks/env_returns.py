"""Check whether training can use what `reset` and `step` of a custom environment return."""

from collections.abc import Callable
from typing import Any

import gymnasium as gym
import numpy as np
from gymnasium import spaces

from app.protocol import ENVIRONMENT_FILE
from app.worker.user_code.loader import line_of_return

_SEED = 7
_STEPS = 25
_NUMBERS = (int, float, np.integer, np.floating, np.bool_)


class InvalidReturnValueError(Exception):
    """The environment returned something that can't be used; the message is the reason."""

    def __init__(self, message: str, line: int | None = None) -> None:
        super().__init__(message)
        self.line = line


def check_returned_values(env: gym.Env[Any, Any]) -> None:
    """Start an episode and take a few steps.

    Raises:
        InvalidReturnValueError: if a returned value can't be used; has the line that returns it.
    """
    env.action_space.seed(_SEED)
    observation, _ = _check(env.reset, _problem_of_reset)
    check_numbers(env.observation_space, observation, 0.0, 0)
    for step in range(1, _STEPS + 1):
        action = env.action_space.sample()
        returned = _check(env.step, _problem_of_step, action)
        try:
            check_numbers(env.observation_space, returned[0], returned[1], step)
        except InvalidReturnValueError as error:
            raise InvalidReturnValueError(
                str(error), line_of_return(env.step, (action,), ENVIRONMENT_FILE)
            ) from None
        if returned[2] or returned[3]:
            env.reset()


def check_numbers(space: spaces.Space[Any], observation: Any, reward: Any, step: int) -> None:  # noqa: ANN401 - foreign
    """Check the observation and the reward of one step.

    Raises:
        InvalidReturnValueError: if the observation has another shape than its space, or a
            number isn't finite.
    """
    if not np.isfinite(float(reward)):
        raise InvalidReturnValueError(
            f"The reward at step {step:,} is {float(reward)}. It must be finite."
        )
    if isinstance(space, spaces.Box) and np.shape(observation) != space.shape:
        raise InvalidReturnValueError(
            f"The observation at step {step:,} has the shape {np.shape(observation)}; the "
            f"observation space says {space.shape}."
        )
    is_numbers = isinstance(observation, np.ndarray) and observation.dtype.kind == "f"
    if is_numbers and not np.isfinite(observation).all():
        raise InvalidReturnValueError(
            f"The observation at step {step:,} has NaN or infinity in it."
        )


def _check(
    call: Callable[..., Any],
    find_problem: Callable[[Any], str | None],
    *arguments: Any,
) -> Any:  # noqa: ANN401 - foreign
    returned = call(*arguments)
    if (problem := find_problem(returned)) is not None:
        # Only a second call can show which line returns the value.
        raise InvalidReturnValueError(problem, line_of_return(call, arguments, ENVIRONMENT_FILE))
    return returned


def _problem_of_reset(returned: Any) -> str | None:  # noqa: ANN401 - foreign
    if not isinstance(returned, tuple) or len(returned) != 2:
        return f"reset() must return (observation, info), and returns {_kind(returned)}."
    if not isinstance(returned[1], dict):
        return f"The info that reset() returns must be a dict, and is {_kind(returned[1])}."
    return None


def _problem_of_step(returned: Any) -> str | None:  # noqa: ANN401 - foreign
    if not isinstance(returned, tuple) or len(returned) != 5:
        return (
            "step() must return (observation, reward, terminated, truncated, info), and returns "
            f"{_kind(returned)}."
        )
    reward = returned[1][()] if isinstance(returned[1], np.ndarray) else returned[1]
    if not isinstance(reward, _NUMBERS):
        return f"The reward must be a number, and is {_kind(returned[1])}."
    if not isinstance(returned[4], dict):
        return f"The info that step() returns must be a dict, and is {_kind(returned[4])}."
    return None


def _kind(value: Any) -> str:  # noqa: ANN401 - foreign
    return f"{len(value)} values" if isinstance(value, tuple) else type(value).__name__
