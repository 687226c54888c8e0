"""Check a custom environment: loading, determinism, episode ends, rendering, speed, memory."""

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

from app.protocol import ENVIRONMENT_FILE, Channel, commands, messages
from app.worker.checks.env_returns import (
    InvalidReturnValueError,
    check_numbers,
    check_returned_values,
)
from app.worker.envs import custom
from app.worker.envs.describe import UntrainableError, describe_env
from app.worker.envs.environments import make_env, make_raw_env
from app.worker.envs.rendering import render_frame
from app.worker.user_code import loader

_Check = Literal["loading", "spaces", "gymnasium", "repeats", "rendering", "episodes", "speed"]

_SEED = 7
_REPEATED_STEPS = 200
_STEPS = 10_000
_WARM_UP_STEPS = 1_000
_MAX_DURATION_S = 20.0
_SLOW_BELOW = 500
_LEAK_MB = 50
_MAX_WARNING_LENGTH = 300
_MAX_WARNINGS = 5
_STEPS_BEFORE_FRAME = 25


class _Inspection:
    def __init__(self, job: commands.Inspect) -> None:
        self._job = job
        self.findings: list[messages.Finding] = []
        self.described: messages.Described | None = None
        self.frame: bytes | None = None
        self.steps_per_second: float | None = None

    def run(self) -> None:
        """Run the checks one after another; stop if the environment can't be loaded or made."""
        if not self._try("loading", self._load) or not self._try("spaces", self._describe):
            self.described = None
            return
        passed = [
            self._try("gymnasium", self._check_with_gymnasium),
            self._try("repeats", self._repeat),
            self._try("rendering", self._draw),
            self._try("episodes", self._play),
        ]
        if not all(passed):
            self.described = None

    def _try(self, check: _Check, run: Callable[[], str | None]) -> bool:
        """Run a check and note its result: its text if it passed, or the error and its line."""
        try:
            finding = run()
        except BaseException as error:  # noqa: BLE001 - a user's code may raise anything
            self._note(check, "error", *_error_text(error))
            return False
        if finding is not None:
            self._note(check, "ok", finding)
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
        return "The file loads and defines one environment."

    def _describe(self) -> str:
        # First, because `describe_env` would fail for the same reason with a worse message.
        check_returned_values(self._make().unwrapped)
        found = self.described = describe_env(self._make())
        size = " x ".join(map(str, found.observation_shape))
        count = found.n_actions if found.n_actions is not None else found.action_shape
        observations = f"Observations: {found.observation_kind} ({size})."
        return f"{observations} Actions: {found.action_kind} ({count})."

    def _check_with_gymnasium(self) -> str | None:
        env = make_raw_env(self._job.env_id) if self._draws else self._make()
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            check_env(env.unwrapped, skip_render_check=True)
        env.close()
        texts = dict.fromkeys(_plain(str(one.message)) for one in caught)
        for text in list(texts)[:_MAX_WARNINGS]:
            self._note("gymnasium", "warning", text)
        return None if texts else "Gymnasium's checker reports no problems."

    def _repeat(self) -> str | None:
        first, second = self._make(), self._make()
        for is_reused in (False, True):
            # The second time both environments were used: does reset clear all state?
            if (step := _first_difference(first, second)) is None:
                continue
            when = "after a reset" if is_reused else "in two new environments"
            self._note(
                "repeats",
                "warning",
                f"The same seed and actions diverge at step {step} {when}: a run can't be "
                f"reproduced. Use self.np_random for all randomness, and reset all state in "
                f"reset().",
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
                'It can\'t be rendered: metadata has no "rgb_array" in "render_modes". There will '
                "be no preview, no live view and no videos.",
            )
            return None
        env = make_raw_env(self._job.env_id)
        env.reset(seed=_SEED)
        env.action_space.seed(_SEED)
        for _ in range(_STEPS_BEFORE_FRAME):
            *_, terminated, truncated, _ = env.step(env.action_space.sample())
            if terminated or truncated:
                env.reset()
        pixels = render_frame(env)
        env.close()
        self.frame = _png(pixels)
        height, width, _ = pixels.shape
        return f"It renders frames of {width} x {height}."

    def _play(self) -> None:
        """Take many random steps; check episode ends, speed and memory growth."""
        env = self._make()
        env.action_space.seed(_SEED)
        env.reset(seed=_SEED)
        began, ends, longest, length, warm_kb, steps = time.perf_counter(), 0, 0, 0, 0, 0
        for steps in range(1, _STEPS + 1):
            observation, reward, terminated, truncated, _ = env.step(env.action_space.sample())
            check_numbers(env.observation_space, observation, reward, steps)
            length += 1
            if terminated or truncated:
                ends, longest, length = ends + 1, max(longest, length), 0
                env.reset()
            if steps == _WARM_UP_STEPS:
                warm_kb = _peak_kb()
            if time.perf_counter() - began > _MAX_DURATION_S:
                break
        seconds = time.perf_counter() - began
        env.close()
        self._note_ends(ends, longest, steps)
        self._note_speed(steps / seconds, steps)
        self._note_memory((_peak_kb() - warm_kb) >> 10 if warm_kb else 0, steps)

    def _note_ends(self, ends: int, longest: int, steps: int) -> None:
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

    def _note_speed(self, speed: float, steps: int) -> None:
        self.steps_per_second = round(speed, 1)
        level: Literal["ok", "warning"] = "ok" if speed >= _SLOW_BELOW else "warning"
        more = "" if speed >= _SLOW_BELOW else " Training will be slow."
        self._note("speed", level, f"{speed:,.0f} steps a second, over {steps:,} steps.{more}")

    def _note_memory(self, grown_mb: int, steps: int) -> None:
        if grown_mb >= _LEAK_MB:
            text = f"It grew by {grown_mb:,} MB in {steps:,} steps: data accumulates at every step."
            self._note("memory", "warning", text)
        else:
            self._note("memory", "ok", f"It grew by {grown_mb:,} MB in {steps:,} steps.")

    @property
    def _draws(self) -> bool:
        return self.described is not None and self.described.renders

    def _make(self) -> gym.Env[Any, Any]:
        return make_env(self._job.env_id, {}, unmonitored=True)


def inspect_environment(job: commands.Inspect, channel: Channel) -> None:
    """Check a custom environment; send the findings, and a frame if it renders."""
    inspection = _Inspection(job)
    inspection.run()
    has_frame = inspection.described is not None and inspection.frame is not None
    channel.send(
        messages.Inspected(
            findings=tuple(inspection.findings),
            described=inspection.described,
            steps_per_second=inspection.steps_per_second,
            has_preview=has_frame,
        )
    )
    if has_frame and inspection.frame is not None:
        channel.send_file("preview.png", inspection.frame)


def _error_text(error: BaseException) -> tuple[str, int | None]:
    if isinstance(error, InvalidReturnValueError):
        where = "" if error.line is None else f"{ENVIRONMENT_FILE}, line {error.line}: "
        return f"{where}{error}", error.line
    if isinstance(error, UntrainableError):
        return str(error), None
    explained = loader.explain(error, ENVIRONMENT_FILE)
    if explained.line is None and explained is not error:
        return _plain(f"{type(error).__name__}: {error}"), None
    return str(explained), explained.line


def _plain(text: str) -> str:
    """Strip the colors and the prefix from a warning of Gymnasium."""
    for mark in ("\x1b[33m", "\x1b[31m", "\x1b[0m"):
        text = text.replace(mark, "")
    return text.removeprefix("WARN: ").strip().partition("\n")[0][:_MAX_WARNING_LENGTH]


def _first_difference(first: gym.Env[Any, Any], second: gym.Env[Any, Any]) -> int | None:
    """Return the first step at which two environments differ after a reset with the same seed."""
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
