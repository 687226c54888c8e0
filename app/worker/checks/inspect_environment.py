"""Try an environment that a person wrote: does it load, repeat itself, end, draw, and how fast."""

import io
import resource
import time
import warnings
from collections.abc import Callable
from typing import Any, Literal

import gymnasium as gym
import msgspec
import numpy as np
from gymnasium.utils.env_checker import check_env

from app.protocol import commands, messages
from app.protocol.pipe import Channel
from app.protocol.user_code import ENVIRONMENT_FILE
from app.worker.checks.env_returns import SpoiltError, check_answers, check_numbers
from app.worker.envs import custom
from app.worker.envs.describe import RefusedError, look_at
from app.worker.envs.environments import make_env, make_untouched_env
from app.worker.envs.rendering import draw
from app.worker.user_code import loader

_Check = Literal["loading", "spaces", "gymnasium", "repeats", "rendering", "episodes", "speed"]

_SEED = 7
_REPEATED_STEPS = 200
_STEPS = 10_000
_SETTLED_AFTER = 1_000
_LONGEST_S = 20.0
_SLOW = 500
_LEAK_MB = 50
_LONGEST_WARNING = 300
_MOST_WARNINGS = 5
_SHOWN_AFTER = 25


class _Inspection:
    def __init__(self, job: commands.Inspect) -> None:
        self._job = job
        self.findings: list[messages.Finding] = []
        self.described: messages.Described | None = None
        self.picture: bytes | None = None
        self.steps_per_second: float | None = None

    def run(self) -> None:
        """Check one thing after the other; what can't be loaded or made isn't checked further."""
        if not self._try("loading", self._load) or not self._try("spaces", self._describe):
            self.described = None
            return
        works = [
            self._try("gymnasium", self._ask_gymnasium),
            self._try("repeats", self._repeat),
            self._try("rendering", self._draw),
            self._try("episodes", self._play),
        ]
        if not all(works):
            self.described = None

    def _try(self, check: _Check, work: Callable[[], str | None]) -> bool:
        """Note what came of a check: fine, in which words, or an error and its line."""
        try:
            said = work()
        except BaseException as error:  # noqa: BLE001 - a person's code may raise anything
            self._note(check, "error", *_words(error))
            return False
        if said is not None:
            self._note(check, "ok", said)
        return True

    def _note(
        self,
        check: Any,  # noqa: ANN401 - one of the literals
        level: Literal["ok", "warning", "error"],
        message: str,
        line: int | None = None,
    ) -> None:
        text = message[: messages.MAX_TEXT]
        self.findings.append(messages.Finding(check=check, level=level, message=text, line=line))

    def _load(self) -> str:
        custom.register(self._job.env_id, self._job.env_code)
        return "The file can be loaded and has one environment in it."

    def _describe(self) -> str:
        # First of all: what follows would fail for the same reason, and say it worse.
        check_answers(self._make().unwrapped)
        found = self.described = look_at(self._make())
        size = " x ".join(map(str, found.observation_shape))
        count = found.n_actions if found.n_actions is not None else found.action_shape
        seen = f"Observations: {found.observation_kind} ({size})."
        return f"{seen} Actions: {found.action_kind} ({count})."

    def _ask_gymnasium(self) -> str | None:
        env = make_untouched_env(self._job.env_id) if self._draws else self._make()
        with warnings.catch_warnings(record=True) as told:
            warnings.simplefilter("always")
            check_env(env.unwrapped, skip_render_check=True)
        env.close()
        said = dict.fromkeys(_plain(str(one.message)) for one in told)
        for text in list(said)[:_MOST_WARNINGS]:
            self._note("gymnasium", "warning", text)
        return None if said else "Gymnasium's checker has nothing to say against it."

    def _repeat(self) -> str | None:
        first, second = self._make(), self._make()
        for begun_again in (False, True):
            # The second time around in a used environment: does reset forget what was?
            if (step := _where_they_part(first, second)) is None:
                continue
            when = "after a reset" if begun_again else "in two new environments"
            self._note(
                "repeats",
                "warning",
                f"The same seed and actions part at step {step} {when}: a run can't be repeated. "
                "Take all chance from self.np_random, and put everything back in reset().",
            )
            if self.described is not None:
                self.described = msgspec.structs.replace(self.described, repeats_itself=False)
            return None
        return f"The same seed and actions give the same {_REPEATED_STEPS} steps, twice."

    def _draw(self) -> str | None:
        if not self._draws:
            self._note(
                "rendering",
                "warning",
                'It isn\'t drawn: metadata has no "rgb_array" in "render_modes". There will be '
                "no picture, no live view and no videos.",
            )
            return None
        env = make_untouched_env(self._job.env_id)
        env.reset(seed=_SEED)
        env.action_space.seed(_SEED)
        for _ in range(_SHOWN_AFTER):
            *_, terminated, truncated, _ = env.step(env.action_space.sample())
            if terminated or truncated:
                env.reset()
        pixels = draw(env)
        env.close()
        self.picture = _png(pixels)
        height, width, _ = pixels.shape
        return f"It draws pictures of {width} x {height}."

    def _play(self) -> None:
        """Take many random steps: whether episodes end, how fast it is, and whether it grows."""
        env = self._make()
        env.action_space.seed(_SEED)
        env.reset(seed=_SEED)
        began, ends, longest, length, settled_kb, steps = time.perf_counter(), 0, 0, 0, 0, 0
        for steps in range(1, _STEPS + 1):
            observation, reward, terminated, truncated, _ = env.step(env.action_space.sample())
            check_numbers(env.observation_space, observation, reward, steps)
            length += 1
            if terminated or truncated:
                ends, longest, length = ends + 1, max(longest, length), 0
                env.reset()
            if steps == _SETTLED_AFTER:
                settled_kb = _peak_kb()
            if time.perf_counter() - began > _LONGEST_S:
                break
        seconds = time.perf_counter() - began
        env.close()
        self._tell_of_ends(ends, longest, steps)
        self._tell_of_speed(steps / seconds, steps)
        self._tell_of_memory((_peak_kb() - settled_kb) >> 10 if settled_kb else 0, steps)

    def _tell_of_ends(self, ends: int, longest: int, steps: int) -> None:
        if ends:
            text = (
                f"{ends:,} episodes ended in {steps:,} random steps, the longest after {longest:,}."
            )
            self._note("episodes", "ok", text)
            return
        self._note(
            "episodes",
            "warning",
            f"No episode ended in {steps:,} random steps. Set max_episode_steps in the class, or "
            "return terminated=True somewhere.",
        )

    def _tell_of_speed(self, speed: float, steps: int) -> None:
        self.steps_per_second = round(speed, 1)
        level: Literal["ok", "warning"] = "ok" if speed >= _SLOW else "warning"
        more = "" if speed >= _SLOW else " Training will take long."
        self._note("speed", level, f"{speed:,.0f} steps a second, over {steps:,} steps.{more}")

    def _tell_of_memory(self, grown_mb: int, steps: int) -> None:
        if grown_mb >= _LEAK_MB:
            text = (
                f"It grew by {grown_mb:,} MB in {steps:,} steps: something is kept at every step."
            )
            self._note("memory", "warning", text)
        else:
            self._note("memory", "ok", f"It grew by {grown_mb:,} MB in {steps:,} steps.")

    @property
    def _draws(self) -> bool:
        return self.described is not None and self.described.renders

    def _make(self) -> gym.Env[Any, Any]:
        return make_env(self._job.env_id, {}, counted=True)


def inspect_environment(job: commands.Inspect, channel: Channel) -> None:
    """Check a person's environment and deliver what was found, and a picture if there is one."""
    inspection = _Inspection(job)
    inspection.run()
    has_picture = inspection.described is not None and inspection.picture is not None
    channel.send(
        messages.Inspected(
            findings=tuple(inspection.findings),
            described=inspection.described,
            steps_per_second=inspection.steps_per_second,
            has_picture=has_picture,
        )
    )
    if has_picture and inspection.picture is not None:
        channel.send_file("preview.png", inspection.picture)


def _words(error: BaseException) -> tuple[str, int | None]:
    if isinstance(error, SpoiltError):
        where = "" if error.line is None else f"{ENVIRONMENT_FILE}, line {error.line}: "
        return f"{where}{error}", error.line
    if isinstance(error, RefusedError):
        return str(error), None
    blamed = loader.explain(error, ENVIRONMENT_FILE)
    if blamed.line is None and blamed is not error:
        return _plain(f"{type(error).__name__}: {error}"), None
    return str(blamed), blamed.line


def _plain(text: str) -> str:
    """Take the colours and the prefix off what Gymnasium says."""
    for mark in ("\x1b[33m", "\x1b[31m", "\x1b[0m"):
        text = text.replace(mark, "")
    return text.removeprefix("WARN: ").strip().partition("\n")[0][:_LONGEST_WARNING]


def _where_they_part(first: gym.Env[Any, Any], second: gym.Env[Any, Any]) -> int | None:
    """Return the first step at which two environments differ, both begun with the same seed."""
    if not _same(first.reset(seed=_SEED)[0], second.reset(seed=_SEED)[0]):
        return 0
    first.action_space.seed(_SEED)
    for step in range(1, _REPEATED_STEPS + 1):
        action = first.action_space.sample()
        one, other = first.step(action), second.step(action)
        if not all(_same(a, b) for a, b in zip(one[:4], other[:4], strict=True)):
            return step
        if one[2] or one[3]:
            first.reset(seed=_SEED + step)
            second.reset(seed=_SEED + step)
    return None


def _same(one: Any, other: Any) -> bool:  # noqa: ANN401 - observations of any kind
    if isinstance(one, dict) and isinstance(other, dict):
        return one.keys() == other.keys() and all(_same(one[key], other[key]) for key in one)
    if isinstance(one, tuple) and isinstance(other, tuple):
        return len(one) == len(other) and all(map(_same, one, other))
    one, other = np.asarray(one), np.asarray(other)
    return bool(np.array_equal(one, other, equal_nan=one.dtype.kind == other.dtype.kind == "f"))


def _peak_kb() -> int:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss


def _png(pixels: Any) -> bytes:  # noqa: ANN401 - an array
    from PIL import Image

    buffer = io.BytesIO()
    Image.fromarray(pixels).save(buffer, format="PNG", optimize=True)
    return buffer.getvalue()
