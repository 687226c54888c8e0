"""Say what an environment is like, whatever it is, or why it can't be trained on."""

from collections.abc import Iterator
from typing import Any

import gymnasium as gym
import msgspec
import numpy as np
from gymnasium import spaces

from app.protocol import commands, messages
from app.protocol.pipe import Channel
from app.worker.envs.custom import names_of
from app.worker.envs.environments import (
    episode_limit,
    find_environment,
    frame_stack,
    make_env,
    policy_kind,
)

_MOST_COMPONENTS = 512
"""Beyond this nobody reads their names."""
_TRAINABLE_PARTS = (spaces.Box, spaces.Discrete, spaces.MultiDiscrete, spaces.MultiBinary)
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


class RefusedError(Exception):
    """Nothing here can be trained on it; the text is the reason."""


def send_description(job: commands.Describe, channel: Channel) -> None:
    """Say what an environment is like."""
    channel.send(describe(job))


def describe(job: commands.Describe) -> messages.Described | messages.NotDescribed:
    """Make the environment, look at it, take one step in it, and say what was found."""
    try:
        find_environment(job.env_id)
    except (gym.error.Error, ImportError) as error:
        return _not_described(error, is_known=False)
    try:
        return look_at(make_env(job.env_id, job.env_kwargs))
    except RefusedError as error:
        return messages.NotDescribed(is_known=True, why=str(error))
    except Exception as error:  # noqa: BLE001 - foreign code may raise anything
        return _not_described(error, is_known=True)


def _not_described(error: Exception, *, is_known: bool) -> messages.NotDescribed:
    why = f"{type(error).__name__}: {str(error).strip().partition(chr(10))[0]}"
    return messages.NotDescribed(is_known=is_known, why=why[: messages.MAX_TEXT])


def _check_spaces(env: gym.Env[Any, Any]) -> None:
    actions, seen = env.action_space, env.observation_space
    if not isinstance(actions, _TRAINABLE_PARTS):
        raise RefusedError(f"no algorithm here takes actions of the kind {type(actions).__name__}.")
    parts = seen.spaces.values() if isinstance(seen, spaces.Dict) else (seen,)
    for part in parts:
        if not isinstance(part, _TRAINABLE_PARTS):
            kind = type(part).__name__
            raise RefusedError(f"no algorithm here sees observations of the kind {kind}.")
    for space in (actions, *parts):
        if isinstance(space, spaces.Discrete) and space.start != 0:
            raise RefusedError(f"its choices are counted from {space.start}, not from 0.")


def _try_a_step(env: gym.Env[Any, Any]) -> None:
    env.reset(seed=0)
    env.action_space.seed(0)
    _, reward, *_ = env.step(env.action_space.sample())
    if np.ndim(reward) != 0 or isinstance(reward, dict):  # type: ignore[arg-type]  # foreign code
        raise RefusedError("its reward isn't one number, as with several agents.")


def look_at(env: gym.Env[Any, Any]) -> messages.Described:
    """Check an environment's spaces, take one step in it, and say what it is like.

    Raises:
        RefusedError: if it can't be trained on.
    """
    _check_spaces(env)
    _try_a_step(env)
    actions, seen = env.action_space, env.observation_space
    assert env.spec is not None
    is_image = policy_kind(seen) == "Cnn"
    threshold = env.spec.reward_threshold
    stack = frame_stack(env.spec)
    return messages.Described(
        action_kind=_kind(actions, _ACTION_KINDS),
        n_actions=int(actions.n) if isinstance(actions, spaces.Discrete) else None,
        action_shape=None if isinstance(actions, spaces.Discrete) else actions.shape,
        observation_kind="image" if is_image else _kind(seen, _OBSERVATION_KINDS),
        observation_shape=_shape(seen),
        observed=() if is_image else _named(env, _components(seen)),
        max_episode_steps=episode_limit(env),
        reward_threshold=None if threshold is None else float(threshold),
        frame_stack=stack,
        repeats_itself=not env.spec.nondeterministic and stack == 1,
        renders="rgb_array" in env.metadata.get("render_modes", ()),
        action_names=_action_names(env),
    )


def _named(
    env: gym.Env[Any, Any], found: tuple[messages.Component, ...]
) -> tuple[messages.Component, ...]:
    """Call components as the environment does, where it does."""
    names = names_of(env, "observation_names", len(found))
    return tuple(
        msgspec.structs.replace(one, name=name)
        for one, name in zip(found, names or (one.name for one in found), strict=True)
    )


def _action_names(env: gym.Env[Any, Any]) -> tuple[str, ...]:
    actions = env.action_space
    count = int(actions.n) if isinstance(actions, spaces.Discrete) else spaces.flatdim(actions)
    return names_of(env, "action_names", count)


def _kind(space: spaces.Space[Any], kinds: dict[type[Any], Any]) -> Any:  # noqa: ANN401 - a literal
    return next(kind for family, kind in kinds.items() if isinstance(space, family))


def _shape(space: spaces.Space[Any]) -> tuple[int, ...]:
    if isinstance(space, spaces.Discrete):
        return (int(space.n),)
    return (spaces.flatdim(space),) if isinstance(space, spaces.Dict) else space.shape or ()


def _components(space: spaces.Space[Any]) -> tuple[messages.Component, ...]:
    if isinstance(space, spaces.Dict):
        found = [c for name, part in space.items() for c in _bounded(part, f"{name} ")]
    else:
        found = list(_bounded(space, "component "))
    return tuple(found) if len(found) <= _MOST_COMPONENTS else ()


def _bounded(space: spaces.Space[Any], prefix: str) -> Iterator[messages.Component]:
    """Name every number of a space; stop where there are too many anyway."""
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
        if i > _MOST_COMPONENTS:
            return
        yield messages.Component(name=f"{prefix}{i + 1}", low=_finite(low), high=_finite(high))


def _finite(bound: Any) -> float | None:  # noqa: ANN401 - a scalar of any of NumPy's types
    return float(bound) if np.isfinite(bound) else None
