"""Find any environment that is installed: in the catalogue, or by asking a worker what it is."""

import asyncio
import json
import logging
import re
import time
from collections.abc import Awaitable, Callable, Mapping
from contextlib import suppress
from typing import Any

import msgspec

from app.accounts.visitors import Visitor
from app.catalog.environments.catalogue import (
    CATALOGUE,
    CUSTOM,
    get_environment,
    installed_ids,
    remember,
)
from app.catalog.environments.spec import ActionKind, EnvSpec, ObservationKind, Observed
from app.core.errors import CannotBeTrainedError, InputError, UnknownEnvironmentError
from app.protocol import commands, messages
from app.workers.errors import JobError, JobFailedError
from app.workers.pool import WorkerPool
from storage.files.lab_folder import LabFolder

_IDS = re.compile(r"[\w.:/-]{1,200}", re.ASCII)
_WITHIN_S = 60.0
_MOST_KEPT = 1_000
_MOST_REFUSED = 500
_REFUSED_FOR_S = 180.0
_LARGEST_KWARGS = 10_000
_RESERVED = frozenset({"id", "render_mode", "max_episode_steps", "disable_env_checker"})
_MOST_LABELS = 256

_log = logging.getLogger(__name__)


class _Kept(msgspec.Struct, frozen=True):
    """What a worker said of an environment."""

    env_id: str
    env_kwargs: dict[str, Any]
    described: messages.Described


class EnvironmentFinder:
    """Knows the catalogue, and has everything else described once, in a locked worker."""

    def __init__(self, folder: LabFolder, pool: WorkerPool) -> None:
        self._folder = folder
        self._pool = pool
        self._one_at_a_time = asyncio.Lock()
        self._kept: list[_Kept] = []
        self._refusals = _Refusals()
        self.check_sees: Callable[[Visitor, str], None] = lambda _visitor, _env_id: None
        """Refuses environments that others wrote for themselves."""
        self.code_refusal: Callable[[str], Awaitable[str | None]] = _no_refusal
        """Says why the code of an environment may not run here; None: it may."""

    async def open(self) -> None:
        """Remember what was described before the server was started."""
        content = await asyncio.to_thread(self._folder.read_environments)
        try:
            self._kept = msgspec.json.decode(content or b"[]", type=list[_Kept])
        except msgspec.DecodeError:
            _log.warning("What was known of further environments can't be read; asking again")
        for kept in self._kept:
            remember(spec_of(kept.env_id, kept.described), kept.env_kwargs)

    async def find(
        self,
        env_id: str,
        env_kwargs: Mapping[str, Any] | None = None,
        *,
        may_ask: bool = True,
    ) -> EnvSpec:
        """Return an environment, as it is with these options.

        Only if it `may_ask` does a worker look for one that isn't known yet.

        Raises:
            UnknownEnvironmentError: if there is none of this id.
            CannotBeTrainedError: if there is, but nothing can be trained on it.
            InputError: if it has no such option, or the value can't be used, or workers aren't
                locked in well enough for its code.
        """
        spec = await self._find(env_id, env_kwargs, may_ask=may_ask)
        if spec.code is not None and (reason := await self.code_refusal(spec.id)) is not None:
            raise InputError(f"{spec.id} can't be used now. {reason}", field="env_id")
        return spec

    async def _find(
        self, env_id: str, env_kwargs: Mapping[str, Any] | None, *, may_ask: bool
    ) -> EnvSpec:
        given = dict(env_kwargs or {})
        _check_size(given)
        try:
            return get_environment(env_id, given)
        except UnknownEnvironmentError:
            _check_is_not_missing(env_id)
            if not may_ask or not _IDS.fullmatch(env_id) or _is_outdated(env_id):
                raise
        async with self._one_at_a_time:
            # Another may have asked the same in the meantime.
            with suppress(UnknownEnvironmentError):
                return get_environment(env_id, given)
            if (refused := self._refusals.get(env_id, given)) is not None:
                raise _refusal(env_id, refused)
            return await self._learn_of(env_id, given)

    async def _learn_of(self, env_id: str, env_kwargs: dict[str, Any]) -> EnvSpec:
        described = await self._ask(env_id, env_kwargs)
        spec = spec_of(env_id, described)
        remember(spec, env_kwargs)
        self._kept = [*self._kept, _Kept(env_id, env_kwargs, described)][-_MOST_KEPT:]
        await asyncio.to_thread(self._folder.save_environments, msgspec.json.encode(self._kept))
        return spec

    async def _ask(self, env_id: str, env_kwargs: dict[str, Any]) -> messages.Described:
        command = commands.Describe(env_id=env_id, env_kwargs=env_kwargs)
        found: messages.Described | messages.NotDescribed
        try:
            async with self._pool.job(command, within_s=_WITHIN_S) as job:
                found = await job.answer(messages.Described, messages.NotDescribed)
        except JobFailedError as error:
            found = messages.NotDescribed(is_known=True, why=str(error))
        except JobError as error:
            raise CannotBeTrainedError(env_id, f"the worker was lost, {error}.") from error
        if isinstance(found, messages.Described):
            return found
        self._refusals.keep(env_id, env_kwargs, found)
        raise _refusal(env_id, found)


async def _no_refusal(_: str) -> str | None:
    return None


class _Refusals:
    """What workers said no to, for a short while: something may be installed meanwhile."""

    def __init__(self) -> None:
        self._said: dict[tuple[str, str], tuple[float, messages.NotDescribed]] = {}

    def get(self, env_id: str, env_kwargs: dict[str, Any]) -> messages.NotDescribed | None:
        until, said = self._said.get(self._key(env_id, env_kwargs), (0.0, None))
        return said if time.monotonic() < until else None

    def keep(self, env_id: str, env_kwargs: dict[str, Any], said: messages.NotDescribed) -> None:
        if len(self._said) >= _MOST_REFUSED:
            self._said.pop(next(iter(self._said)))
        until = time.monotonic() + _REFUSED_FOR_S
        self._said[self._key(env_id, env_kwargs)] = until, said

    def _key(self, env_id: str, env_kwargs: dict[str, Any]) -> tuple[str, str]:
        return env_id, json.dumps(env_kwargs, sort_keys=True)


def _check_size(env_kwargs: Mapping[str, Any]) -> None:
    """Refuse what isn't plain JSON of a reasonable size."""
    try:
        text = json.dumps(env_kwargs, allow_nan=False).encode()
        is_fine = len(text) <= _LARGEST_KWARGS and _RESERVED.isdisjoint(env_kwargs)
        json.dumps(env_kwargs, ensure_ascii=False).encode()
    except ValueError:
        is_fine = False
    if not is_fine:
        raise InputError(
            f"env_kwargs must be plain values of at most {_LARGEST_KWARGS:,} characters, without "
            f"NaN, infinity, or {', '.join(sorted(_RESERVED))}.",
            field="env_kwargs",
        )


def _check_is_not_missing(env_id: str) -> None:
    if env_id.startswith(CUSTOM):
        raise InputError(
            f"{env_id[:80]} isn't in this lab. It was written in another one: add its code under "
            "Write your own, and train on that.",
            field="env_id",
        )


def _is_outdated(env_id: str) -> bool:
    """Whether it is another version of what the catalogue has; Gymnasium may still know it."""
    name, _, version = env_id.rpartition("-v")
    known = {spec_id.rpartition("-v")[0] for spec_id in CATALOGUE}
    return version.isdecimal() and name in known


def _refusal(env_id: str, found: messages.NotDescribed) -> InputError:
    if found.is_known:
        return CannotBeTrainedError(env_id, found.why)
    return UnknownEnvironmentError(env_id, installed_ids())


def spec_of(env_id: str, found: messages.Described) -> EnvSpec:
    """Return what a worker said of an environment as the catalogue says such things."""
    return EnvSpec(
        id=env_id,
        name=env_id,
        family="other",
        description="An installed environment that isn't in the catalogue.",
        action_kind=ActionKind(found.action_kind),
        n_actions=found.n_actions,
        action_shape=found.action_shape,
        action_labels=_action_labels(found),
        observation_kind=ObservationKind(found.observation_kind),
        observed=tuple(Observed(name=c.name, low=c.low, high=c.high) for c in found.observed),
        observation_size=found.observation_shape,
        reward_range=(None, None),
        solved_threshold=found.reward_threshold,
        max_episode_steps=found.max_episode_steps,
        default_timesteps=100_000,
        default_frame_stack=found.frame_stack,
        repeats_itself=found.repeats_itself,
        renders=found.renders,
        options=None,
    )


def _action_labels(found: messages.Described) -> tuple[str, ...]:
    if found.action_names:
        return found.action_names
    if found.n_actions is not None:
        return tuple(f"action {i + 1}" for i in range(min(found.n_actions, _MOST_LABELS)))
    (count,) = found.action_shape if found.action_shape and len(found.action_shape) == 1 else (0,)
    return tuple(f"component {i + 1}" for i in range(min(count, _MOST_LABELS)))
