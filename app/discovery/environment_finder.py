"""Find any installed environment: in the catalogue, or described by a worker."""

import asyncio
import json
import logging
import re
import time
from collections.abc import Awaitable, Callable, Mapping
from contextlib import suppress
from typing import Any

import msgspec

from app.accounts import Principal
from app.catalog.environments import (
    CUSTOM_PREFIX,
    ENVIRONMENTS,
    ActionKind,
    EnvSpec,
    ObservationKind,
    Observed,
    get_environment,
    installed_ids,
    register_environment,
)
from app.core import CannotBeTrainedError, InputError, UnknownEnvironmentError
from app.protocol import commands, messages
from app.workers import JobError, JobFailedError, WorkerPool
from storage.files import LabFolder

_IDS = re.compile(r"[\w.:/-]{1,200}", re.ASCII)
_WITHIN_S = 60.0
_MAX_KEPT = 1_000
_MAX_REFUSALS = 500
_REFUSED_FOR_S = 180.0
_LARGEST_KWARGS = 10_000
_RESERVED = frozenset({"id", "render_mode", "max_episode_steps", "disable_env_checker"})
_MAX_LABELS = 256

_log = logging.getLogger(__name__)


class _Kept(msgspec.Struct, frozen=True):
    """A worker's description of an environment, as it is stored."""

    env_id: str
    env_kwargs: dict[str, Any]
    described: messages.Described


async def _no_refusal(_: str) -> str | None:
    return None


class EnvironmentFinder:
    """Finds environments in the catalogue; has all others described once, in a sandboxed worker."""

    def __init__(
        self,
        folder: LabFolder,
        pool: WorkerPool,
        *,
        check_sees: Callable[[Principal, str], None] = lambda _principal, _env_id: None,
        code_refusal: Callable[[str], Awaitable[str | None]] = _no_refusal,
    ) -> None:
        """`check_sees` refuses private custom environments of other users.

        `code_refusal` returns why the code of a custom environment may not run here, None if it
        may.
        """
        self.check_sees = check_sees
        self._code_refusal = code_refusal
        self._folder = folder
        self._pool = pool
        self._one_at_a_time = asyncio.Lock()
        self._kept: list[_Kept] = []
        self._refusals = _Refusals()

    async def open(self) -> None:
        """Load the descriptions that earlier servers stored."""
        content = await asyncio.to_thread(self._folder.read_environments)
        try:
            self._kept = msgspec.json.decode(content or b"[]", type=list[_Kept])
        except msgspec.DecodeError:
            _log.warning("The stored descriptions of environments can't be read; asking again")
        for kept in self._kept:
            register_environment(spec_of(kept.env_id, kept.described), kept.env_kwargs)

    async def find(
        self,
        env_id: str,
        env_kwargs: Mapping[str, Any] | None = None,
        *,
        ask_worker: bool = True,
    ) -> EnvSpec:
        """Return the spec of an environment with these options.

        A worker looks for one that isn't known yet only if `ask_worker`.

        Raises:
            UnknownEnvironmentError: if there is none of this id.
            CannotBeTrainedError: if there is one, but it can't be trained on.
            InputError: if it has no such option, or the value can't be used, or workers aren't
                sandboxed well enough for its code.
        """
        spec = await self._find(env_id, env_kwargs, ask_worker=ask_worker)
        if spec.code is not None and (reason := await self._code_refusal(spec.id)) is not None:
            raise InputError(f"{spec.id} can't be used now. {reason}", field="env_id")
        return spec

    async def _find(
        self, env_id: str, env_kwargs: Mapping[str, Any] | None, *, ask_worker: bool
    ) -> EnvSpec:
        kwargs = dict(env_kwargs or {})
        _check_kwargs(kwargs)
        try:
            return get_environment(env_id, kwargs)
        except UnknownEnvironmentError:
            _check_is_not_missing(env_id)
            if not ask_worker or not _IDS.fullmatch(env_id) or _is_outdated(env_id):
                raise
        async with self._one_at_a_time:
            # A concurrent request may have asked for the same meanwhile.
            with suppress(UnknownEnvironmentError):
                return get_environment(env_id, kwargs)
            if (refused := self._refusals.get(env_id, kwargs)) is not None:
                raise _refusal(env_id, refused)
            return await self._discover(env_id, kwargs)

    async def _discover(self, env_id: str, env_kwargs: dict[str, Any]) -> EnvSpec:
        described = await self._describe(env_id, env_kwargs)
        spec = spec_of(env_id, described)
        register_environment(spec, env_kwargs)
        self._kept = [*self._kept, _Kept(env_id, env_kwargs, described)][-_MAX_KEPT:]
        await asyncio.to_thread(self._folder.save_environments, msgspec.json.encode(self._kept))
        return spec

    async def _describe(self, env_id: str, env_kwargs: dict[str, Any]) -> messages.Described:
        command = commands.Describe(env_id=env_id, env_kwargs=env_kwargs)
        answer: messages.Described | messages.NotDescribed
        try:
            async with self._pool.job(command, within_s=_WITHIN_S) as job:
                answer = await job.answer(messages.Described, messages.NotDescribed)
        except JobFailedError as error:
            answer = messages.NotDescribed(is_known=True, why=str(error))
        except JobError as error:
            raise CannotBeTrainedError(env_id, f"the worker was lost, {error}.") from error
        if isinstance(answer, messages.Described):
            return answer
        self._refusals.add(env_id, env_kwargs, answer)
        raise _refusal(env_id, answer)


class _Refusals:
    """Caches refusals of workers for a short time, as more may be installed later."""

    def __init__(self) -> None:
        self._refusals: dict[tuple[str, str], tuple[float, messages.NotDescribed]] = {}

    def get(self, env_id: str, env_kwargs: dict[str, Any]) -> messages.NotDescribed | None:
        until, refusal = self._refusals.get(self._key(env_id, env_kwargs), (0.0, None))
        return refusal if time.monotonic() < until else None

    def add(self, env_id: str, env_kwargs: dict[str, Any], refusal: messages.NotDescribed) -> None:
        if len(self._refusals) >= _MAX_REFUSALS:
            self._refusals.pop(next(iter(self._refusals)))
        until = time.monotonic() + _REFUSED_FOR_S
        self._refusals[self._key(env_id, env_kwargs)] = until, refusal

    def _key(self, env_id: str, env_kwargs: dict[str, Any]) -> tuple[str, str]:
        return env_id, json.dumps(env_kwargs, sort_keys=True)


def _check_kwargs(env_kwargs: Mapping[str, Any]) -> None:
    """Refuse options that aren't plain JSON of a reasonable size."""
    try:
        text = json.dumps(env_kwargs, allow_nan=False).encode()
        is_valid = len(text) <= _LARGEST_KWARGS and _RESERVED.isdisjoint(env_kwargs)
        json.dumps(env_kwargs, ensure_ascii=False).encode()
    except ValueError:
        is_valid = False
    if not is_valid:
        raise InputError(
            f"env_kwargs must be plain values of at most {_LARGEST_KWARGS:,} characters, without "
            f"NaN, infinity, or {', '.join(sorted(_RESERVED))}.",
            field="env_kwargs",
        )


def _check_is_not_missing(env_id: str) -> None:
    if env_id.startswith(CUSTOM_PREFIX):
        raise InputError(
            f"{env_id[:80]} isn't in this lab. It was written in another lab: add its code under "
            f"Write your own, and train on that.",
            field="env_id",
        )


def _is_outdated(env_id: str) -> bool:
    """Whether it is another version of a catalogue environment; Gymnasium may still have it."""
    name, _, version = env_id.rpartition("-v")
    known = {spec_id.rpartition("-v")[0] for spec_id in ENVIRONMENTS}
    return version.isdecimal() and name in known


def _refusal(env_id: str, found: messages.NotDescribed) -> InputError:
    if found.is_known:
        return CannotBeTrainedError(env_id, found.why)
    return UnknownEnvironmentError(env_id, installed_ids())


def spec_of(env_id: str, found: messages.Described) -> EnvSpec:
    """Convert a worker's description of an environment to a catalogue entry."""
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
        observation_wrappers=found.observation_wrappers,
        repeats_itself=found.repeats_itself,
        renders=found.renders,
        options=None,
    )


def _action_labels(found: messages.Described) -> tuple[str, ...]:
    if found.action_names:
        return found.action_names
    if found.n_actions is not None:
        return tuple(f"action {i + 1}" for i in range(min(found.n_actions, _MAX_LABELS)))
    (count,) = found.action_shape if found.action_shape and len(found.action_shape) == 1 else (0,)
    return tuple(f"component {i + 1}" for i in range(min(count, _MAX_LABELS)))
