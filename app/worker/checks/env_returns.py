"""What a person's environment returns from `reset` and `step`: whether a training can use it."""

from collections.abc import Callable
from typing import Any

import gymnasium as gym
import numpy as np
from gymnasium import spaces

from app.protocol.user_code import ENVIRONMENT_FILE
from app.worker.user_code.loader import line_of_return

_SEED = 7
_STEPS = 25
_NUMBERS = (int, float, np.integer, np.floating, np.bool_)


class SpoiltError(Exception):
    """The environment can't be used; the text says why."""

    def __init__(self, message: str, line: int | None = None) -> None:
        super().__init__(message)
        self.line = line


def check_answers(env: gym.Env[Any, Any]) -> None:
    """Begin an episode and take a few steps.

    Raises:
        SpoiltError: if something is returned that can't be used, with the line that returns it.
    """
    env.action_space.seed(_SEED)
    observation, _ = _check(env.reset, _wrong_beginning)
    check_numbers(env.observation_space, observation, 0.0, 0)
    for step in range(1, _STEPS + 1):
        action = env.action_space.sample()
        answer = _check(env.step, _wrong_step, action)
        try:
            check_numbers(env.observation_space, answer[0], answer[1], step)
        except SpoiltError as error:
            raise SpoiltError(
                str(error), line_of_return(env.step, (action,), ENVIRONMENT_FILE)
            ) from None
        if answer[2] or answer[3]:
            env.reset()


def check_numbers(space: spaces.Space[Any], observation: Any, reward: Any, step: int) -> None:  # noqa: ANN401 - foreign
    """Look at what one step brought.

    Raises:
        SpoiltError: if it has another shape than the space says, or isn't finite.
    """
    if not np.isfinite(float(reward)):
        raise SpoiltError(f"The reward at step {step:,} is {float(reward)}. It must be finite.")
    if isinstance(space, spaces.Box) and np.shape(observation) != space.shape:
        raise SpoiltError(
            f"The observation at step {step:,} has the shape {np.shape(observation)}; the "
            f"observation space says {space.shape}."
        )
    is_numbers = isinstance(observation, np.ndarray) and observation.dtype.kind == "f"
    if is_numbers and not np.isfinite(observation).all():
        raise SpoiltError(f"The observation at step {step:,} has NaN or infinity in it.")


def _check(
    call: Callable[..., Any],
    wrong: Callable[[Any], str | None],
    *asked: Any,
) -> Any:  # noqa: ANN401 - foreign
    answer = call(*asked)
    if (words := wrong(answer)) is not None:
        # To ask once more is the only way to see where the answer is returned.
        raise SpoiltError(words, line_of_return(call, asked, ENVIRONMENT_FILE))
    return answer


def _wrong_beginning(answer: Any) -> str | None:  # noqa: ANN401 - foreign
    if not isinstance(answer, tuple) or len(answer) != 2:
        return f"reset() must return (observation, info), and returns {_kind(answer)}."
    if not isinstance(answer[1], dict):
        return f"The info that reset() returns must be a dict, and is {_kind(answer[1])}."
    return None


def _wrong_step(answer: Any) -> str | None:  # noqa: ANN401 - foreign
    if not isinstance(answer, tuple) or len(answer) != 5:
        return (
            "step() must return (observation, reward, terminated, truncated, info), and returns "
            f"{_kind(answer)}."
        )
    reward = answer[1][()] if isinstance(answer[1], np.ndarray) else answer[1]
    if not isinstance(reward, _NUMBERS):
        return f"The reward must be a number, and is {_kind(answer[1])}."
    if not isinstance(answer[4], dict):
        return f"The info that step() returns must be a dict, and is {_kind(answer[4])}."
    return None


def _kind(value: Any) -> str:  # noqa: ANN401 - foreign
    return f"{len(value)} values" if isinstance(value, tuple) else type(value).__name__
