"""Describe an environment, or explain why it can't be trained on."""

from collections.abc import Iterator
from typing import Any

import gymnasium as gym
import msgspec
import numpy as np
from gymnasium import spaces

from app.protocol import Channel, commands, messages
from app.worker.envs.custom import component_names
from app.worker.envs.environments import (
    episode_limit,
    find_environment,
    frame_stack,
    make_env,
    observation_wrappers,
    policy_kind,
)

_MAX_COMPONENTS = 512
"""With more, components are not listed."""
_SUPPORTED_SPACES = (spaces.Box, spaces.Discrete, spaces.MultiDiscrete, spaces.MultiBinary)
_ACTION_KINDS: dict[type[Any], Any] = {
    spaces.Discrete: "discrete",
    spaces.Box: "continuous",
    spaces.MultiDiscrete: "multi_discrete",
    spaces.MultiBinary: "multi_binary",
}
_OBSERVATION_KINDS: dict[type[Any], Any] = {
    **_ACTION_KINDS,
    spaces.Box: "box",
    spaces.Dict: "dict",
}


class UntrainableError(Exception):
    """No algorithm can train on the environment; the text is the reason."""


def send_description(job: commands.Describe, channel: Channel) -> None:
    """Send the description of an environment."""
    channel.send(describe(job))


def describe(job: commands.Describe) -> messages.Described | messages.NotDescribed:
    """Make the environment, take one step in it, and describe it."""
    try:
        find_environment(job.env_id)
    except (gym.error.Error, ImportError) as error:
        return _not_described(error, is_known=False)
    try:
        return describe_env(make_env(job.env_id, job.env_kwargs))
    except UntrainableError as error:
        return messages.NotDescribed(is_known=True, why=str(error))
    except Exception as error:  # noqa: BLE001 - foreign code may raise anything
        return _not_described(error, is_known=True)


def _not_described(error: Exception, *, is_known: bool) -> messages.NotDescribed:
    why = f"{type(error).__name__}: {str(error).strip().partition(chr(10))[0]}"
    return messages.NotDescribed(is_known=is_known, why=why[: messages.MAX_TEXT])


def _check_spaces(env: gym.Env[Any, Any]) -> None:
    actions, observations = env.action_space, env.observation_space
    if not isinstance(actions, _SUPPORTED_SPACES):
        raise UntrainableError(f"no algorithm supports {type(actions).__name__} actions.")
    parts = list(observations.values()) if isinstance(observations, spaces.Dict) else [observations]
    for part in parts:
        if not isinstance(part, _SUPPORTED_SPACES):
            kind = type(part).__name__
            raise UntrainableError(f"no algorithm supports {kind} observations.")
    for space in (actions, *parts):
        if isinstance(space, spaces.Discrete) and space.start != 0:
            raise UntrainableError(f"one of its Discrete spaces starts at {space.start}, not at 0.")


def _try_a_step(env: gym.Env[Any, Any]) -> None:
    env.reset(seed=0)
    env.action_space.seed(0)
    _, reward, *_ = env.step(env.action_space.sample())
    if np.ndim(reward) != 0 or isinstance(reward, dict):  # type: ignore[arg-type]  # untrusted code
        raise UntrainableError("its reward isn't a single number, as in multi-agent environments.")


def describe_env(env: gym.Env[Any, Any]) -> messages.Described:
    """Check an environment's spaces, take one step in it, and describe it.

    Raises:
        UntrainableError: if it can't be trained on.
    """
    _check_spaces(env)
    _try_a_step(env)
    actions, observations = env.action_space, env.observation_space
    assert env.spec is not None
    is_image = policy_kind(observations) == "Cnn"
    threshold = env.spec.reward_threshold
    stack = frame_stack(env.spec)
    return messages.Described(
        action_kind=_kind(actions, _ACTION_KINDS),
        n_actions=int(actions.n) if isinstance(actions, spaces.Discrete) else None,
        action_shape=None if isinstance(actions, spaces.Discrete) else actions.shape,
        observation_kind="image" if is_image else _kind(observations, _OBSERVATION_KINDS),
        observation_shape=_shape(observations),
        observed=() if is_image else _with_own_names(env, _components(observations)),
        max_episode_steps=episode_limit(env),
        reward_threshold=None if threshold is None else float(threshold),
        frame_stack=stack,
        repeats_itself=not env.spec.nondeterministic and stack == 1,
        renders="rgb_array" in env.metadata.get("render_modes", ()),
        action_names=_action_names(env),
        observation_wrappers=observation_wrappers(env),
    )


def _with_own_names(
    env: gym.Env[Any, Any], found: tuple[messages.Component, ...]
) -> tuple[messages.Component, ...]:
    """Replace the names of components with the environment's own, if it has any."""
    names = component_names(env, "observation_names", len(found))
    return tuple(
        msgspec.structs.replace(one, name=name)
        for one, name in zip(found, names or (one.name for one in found), strict=True)
    )


def _action_names(env: gym.Env[Any, Any]) -> tuple[str, ...]:
    actions = env.action_space
    count = int(actions.n) if isinstance(actions, spaces.Discrete) else spaces.flatdim(actions)
    return component_names(env, "action_names", count)


def _kind(space: spaces.Space[Any], kinds: dict[type[Any], Any]) -> Any:  # noqa: ANN401 - a literal
    return next(kind for family, kind in kinds.items() if isinstance(space, family))


def _shape(space: spaces.Space[Any]) -> tuple[int, ...]:
    if isinstance(space, spaces.Discrete):
        return (int(space.n),)
    return (spaces.flatdim(space),) if isinstance(space, spaces.Dict) else space.shape or ()


def _components(space: spaces.Space[Any]) -> tuple[messages.Component, ...]:
    if isinstance(space, spaces.Dict):
        found = [c for name, part in space.items() for c in _with_bounds(part, f"{name} ")]
    else:
        found = list(_with_bounds(space, "component "))
    return tuple(found) if len(found) <= _MAX_COMPONENTS else ()


def _with_bounds(space: spaces.Space[Any], prefix: str) -> Iterator[messages.Component]:
    """Yield each number of a space with its bounds; stop if there are too many."""
    match space:
        case spaces.Discrete():
            name = "state" if prefix == "component " else prefix.strip()
            yield messages.Component(name=name, low=0, high=int(space.n) - 1)
            return
        case spaces.Box():
            lows, highs = space.low.flatten(), space.high.flatten()
        case spaces.MultiDiscrete():
            lows, highs = space.start.flatten(), (space.start + space.nvec - 1).flatten()
        case _:
            count = int(np.prod(space.shape or ()))
            lows, highs = np.zeros(count), np.ones(count)
    for i, (low, high) in enumerate(zip(lows, highs, strict=True)):
        if i > _MAX_COMPONENTS:
            return
        yield messages.Component(name=f"{prefix}{i + 1}", low=_finite(low), high=_finite(high))


def _finite(bound: Any) -> float | None:  # noqa: ANN401 - a scalar of any of NumPy's types
    return float(bound) if np.isfinite(bound) else None
