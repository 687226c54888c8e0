"""Watch a model learn: episodes, losses, speed, and the wishes of the lab."""

import math
import time
from collections import deque
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any, Literal

import numpy as np
from stable_baselines3.common.callbacks import BaseCallback
from stable_baselines3.common.on_policy_algorithm import OnPolicyAlgorithm
from stable_baselines3.common.vec_env import VecEnv

from app.protocol import commands, messages
from app.protocol.pipe import Channel, Control
from app.worker.fast.model import FastModel
from app.worker.models.ars import StopRequestedError
from app.worker.models.models import save_weights
from app.worker.training.checkpoint_schedule import CheckpointKeeper
from app.worker.training.diagnostics import GradientWatch, Insight, describe_first_policy
from app.worker.training.eval_schedule import EvalSchedule
from app.worker.training.live_changes import apply_change, optimizers
from app.worker.training.metric_names import finite, update_values
from app.worker.training.stopwatch import Stopwatch

_REPORT_EVERY_S = 0.4
_WEIGHTS_EVERY_S = 1.0
_SPEED_REPORTS = 12
"""The speed shown is that of the last dozen reports, about five seconds."""
_MEAN_OVER = 100
_LINES_PER_MESSAGE = 500
_LINES_WITH_TERMS = 50
_LAST_VERDICTS_S = 60.0
_LOOK_AGAIN_S = 0.1
_LOOK_EVERY_S = 0.02
"""How long a wish of the lab may wait while steps or gradient steps go on."""
_OBEY_WITHIN_S = 0.5
_UPDATE_LINES_EVERY_S = 0.05
_LINE_EVERY_S = 2.0
"""After so long without an episode or an update there is a line of steps and speed alone."""
_SLOW_STEP_S = 5.0
"""A step of the environments that takes longer than this is worth a word, once."""
_NO_END_IN = 100_000
"""After so many steps in each environment without an end of an episode it is said."""
_NOT_SHAPED: Mapping[str, Any] = {"terms": {}, "values": {}}
_NOTHING_COUNTED: Mapping[str, Any] = {
    "elapsed_s": 0.0,
    "lines": 0,
    "rewards": (),
    "lengths": (),
    "episodes": 0,
    "rollouts": 0,
    "updates_told": 0,
    "vec_steps": 0,
}


class TrainingCallback(BaseCallback):
    """Tells the lab what happens, in batches, so that telling costs next to nothing."""

    def __init__(
        self,
        job: commands.Train,
        envs: VecEnv,
        channel: Channel,
        control: Control,
        counts: Mapping[str, Any] | None = None,
    ) -> None:
        super().__init__()
        self._is_untrained = counts is None and not job.transfer
        counts = counts or _NOTHING_COUNTED
        self.total = job.total_timesteps
        self._envs = envs
        self._channel = channel
        self._control = control
        self.keeper = CheckpointKeeper(envs, channel, before_delivery=self._send_lines)
        self._judge = EvalSchedule(job, envs, channel, counts)
        self._count_on_from(counts)
        self._reported = self._stepped = self._lines_at = time.perf_counter()
        self._lines: list[messages.Line] = []
        self._speed: deque[tuple[float, int]] = deque(maxlen=_SPEED_REPORTS)
        self._weights_sent: tuple[float, int] = (-math.inf, -1)
        self._look_at = self._look_at_gradients_at = -math.inf
        self._asked_at: float | None = None
        """Since when a stop or a pause waits for the end of a rollout."""
        self._update_told_at = -math.inf
        self._warns_at = self.n_calls + _NO_END_IN
        self._has_warned_of_slow_step = False
        self._learning_to = job.total_timesteps
        """The budget with which SB3's loop was begun; it doesn't hear of another one."""
        self._see_the_end()
        self._gradients: GradientWatch | None = None
        self._insight: Insight | None = None

    def _count_on_from(self, counts: Mapping[str, Any]) -> None:
        self._clock = Stopwatch(counts["elapsed_s"])
        self._lines_told: int = counts["lines"]
        self._rewards: deque[float] = deque(counts["rewards"], maxlen=_MEAN_OVER)
        self._lengths: deque[int] = deque(counts["lengths"], maxlen=_MEAN_OVER)
        self._episodes: int = counts["episodes"]
        self._rollouts: int = counts["rollouts"]
        self._updates_told: int = counts["updates_told"]
        self.n_calls = counts["vec_steps"]

    @property
    def has_solved(self) -> bool:
        """Whether evaluations say that the task is solved."""
        return self._judge.has_solved

    @property
    def must_end(self) -> bool:
        """Whether training is over although there may be budget left."""
        return self._control.stop_requested or self.has_solved

    def counts(self) -> dict[str, Any]:
        """Return what has been counted, to go on from it; taken at the start of a rollout."""
        return {
            "elapsed_s": self._clock.elapsed,
            "lines": self._lines_told,
            "rewards": list(self._rewards),
            "lengths": list(self._lengths),
            "episodes": self._episodes,
            # The rollout that begins now will begin once more.
            "rollouts": self._rollouts - 1,
            "updates_told": self._updates_told,
            "vec_steps": self.n_calls,
            "judge": self._judge.counts(),
        }

    @property
    def updates(self) -> int:
        """How often the model has learned: rollouts on-policy, gradient steps off-policy."""
        if self._is_on_policy:
            return max(0, self._rollouts - 1)
        return int(self.model._n_updates)

    def finish(self) -> None:
        """Tell of the last round of learning, and wait a little for what it is worth."""
        if self._insight is None:
            # There was nothing to learn.
            return
        if not self.must_end and self.num_timesteps < self._ends_at and self._is_on_policy:
            # The last rollout was learned from, too; no further one says so.
            self._rollouts += 1
        self._update_told_at = -math.inf
        self._tell_update()
        if self._lines_told == 0:
            self._add_line()
        self._hear_last_verdicts()
        self._report(time.perf_counter())

    def give_up(self) -> None:
        """Send what was measured before an error."""
        self._send_lines()

    def _hear_last_verdicts(self) -> None:
        """Wait a little for evaluations under way, and let the final policy be judged, too."""
        until = time.monotonic() + _LAST_VERDICTS_S
        while not self.must_end and time.monotonic() < until:
            self._obey()
            if not self._judge.is_waiting:
                if self._judge.has_judged(self.num_timesteps):
                    return
                self._judge.hand_out(self.model, self._episodes)
            self._channel.send(messages.Alive())
            time.sleep(_LOOK_AGAIN_S)
        if self._judge.is_waiting and not self.must_end:
            text = "The last evaluation took too long and was left out."
            self._note("evaluation_left_out", text, is_warning=True)

    def change(self, change: messages.Change) -> None:
        """Go on with other values."""
        apply_change(self.model, change)
        if change.total_timesteps is not None:
            self.total = self.model._total_timesteps = change.total_timesteps
            self._see_the_end()

    def _tell_change(self, change: messages.Change) -> None:
        self.change(change)
        self._channel.send(messages.Changed(timesteps=self.num_timesteps))

    def _on_training_start(self) -> None:
        self._learning_to = self.model._total_timesteps
        self._see_the_end()
        self._speed.append((time.perf_counter(), self.num_timesteps))
        if self._insight is not None:
            # A larger budget made SB3 begin once more.
            return
        self._insight = Insight(self.model)
        self._gradients = GradientWatch(self.model)
        self._follow_gradient_steps()
        first = describe_first_policy(self.model) if self._is_untrained else None
        if first is not None:
            self._note("initial_policy", first[0], is_warning=first[1])
        self._report(time.perf_counter())

    def _follow_gradient_steps(self) -> None:
        if isinstance(self.model, FastModel):
            self.model.after_gradient_step = self._on_fast_gradient_step
            return
        for optimizer in optimizers(self.model):
            optimizer.register_step_post_hook(self._on_gradient_step)

    def _on_rollout_start(self) -> None:
        if self._clock.is_collecting:
            # ARS says it twice.
            return
        self._stepped = now = self._clock.collect()
        self._rollouts += 1
        if self._is_on_policy:
            self._tell_update()
        ends = self._control.stop_requested or self._control.paused
        if ends or self.keeper.is_due(now):
            self.keeper.between_rollouts(self.model, self.counts, now=ends)
        if ends:
            self._wait_if_paused()
        if self._control.stop_requested:
            raise StopRequestedError

    def _on_rollout_end(self) -> None:
        now = self._clock.learn()
        assert self._insight is not None
        self._insight.look(now)

    def _on_step(self) -> bool:
        if np.count_nonzero(self.locals["dones"]):
            self._tell_episodes(self.locals["infos"])
        now = time.perf_counter()
        if now - self._stepped > _SLOW_STEP_S:
            self._warn_of_slow_step(now - self._stepped)
        self._stepped = now
        if now < self._look_at and self.num_timesteps < self._act_at:
            return True
        return self._look_around(now)

    def _look_around(self, now: float) -> bool:
        """Do what is due or wished for; return whether to go on.

        Not at every step: with small networks that alone would take some per cent of the time.
        """
        self._look_at = now + _LOOK_EVERY_S
        if now - self._reported >= _REPORT_EVERY_S:
            self._tell_update()
            self._report(now)
        if self._control.has_wishes:
            self._obey()
        if self._judge.is_due(self.num_timesteps):
            self._judge.hand_out(self.model, self._episodes)
        self._act_at = min(self._ends_at, self._judge.next_at)
        return self.num_timesteps < self._ends_at and not self._must_end_here(now)

    def _on_fast_gradient_step(self, length: float | None) -> None:
        assert self._gradients is not None
        self._gradients.unclipped = length
        self._on_gradient_step()

    def _on_gradient_step(self, *_: object) -> None:
        """Keep in touch during long updates, and stop or wait in the middle of one."""
        now = time.perf_counter()
        if now < self._look_at_gradients_at:
            return
        self._look_at_gradients_at = now + _LOOK_EVERY_S
        assert self._gradients is not None
        self._gradients.look(now)
        if self._must_end_here(now):
            raise StopRequestedError
        if now - self._reported >= _REPORT_EVERY_S:
            self._report(now)

    @property
    def _is_on_policy(self) -> bool:
        return isinstance(self.model, OnPolicyAlgorithm)

    def _see_the_end(self) -> None:
        """Find out at which step it is over although SB3's loop would go on."""
        is_lowered = self.total < self._learning_to
        self._ends_at = 0 if self.has_solved else self.total if is_lowered else math.inf
        self._act_at = 0.0

    def _obey(self) -> None:
        """Do what the lab asked for since the last step."""
        for wish in self._control.take_wishes():
            if isinstance(wish, messages.Change):
                self._tell_change(wish)
            else:
                self._add_line(**self._judge.hear(wish))
                self._see_the_end()

    def _must_end_here(self, now: float) -> bool:
        """Obey a stop or a pause; the next rollout is a better place for it, if it comes soon."""
        if not (self._control.stop_requested or self._control.paused):
            self._asked_at = None
            return False
        self._asked_at = self._asked_at or now
        if now - self._asked_at <= _OBEY_WITHIN_S:
            return False
        if self._is_on_policy:
            self._wait_if_paused()
        return self._control.stop_requested

    def _wait_if_paused(self) -> None:
        if not self._control.paused or self._control.stop_requested:
            return
        self._report(time.perf_counter())
        self.keeper.deliver()
        self._channel.send(messages.Paused(on=True))
        paused_at = time.perf_counter()
        self._control.wait_while_paused(self._while_paused)
        self._clock.leave_out(time.perf_counter() - paused_at)
        self._stepped = time.perf_counter()
        self._asked_at = None
        self._speed.clear()
        self._speed.append((time.perf_counter(), self.num_timesteps))
        self._channel.send(messages.Paused(on=False))

    def _while_paused(self) -> None:
        self._hand_out_weights(time.perf_counter())
        self._obey()

    def _tell_episodes(self, infos: list[dict[str, Any]]) -> None:
        for info in infos:
            if episode := info.get("episode"):
                shaped = info.get("shaped", _NOT_SHAPED)
                self._tell_episode(float(episode["r"]), int(episode["l"]), shaped)

    def _tell_episode(self, reward: float, length: int, shaped: Mapping[str, Any]) -> None:
        self._episodes += 1
        self._warns_at = self.n_calls + _NO_END_IN
        self._rewards.append(reward)
        self._lengths.append(length)
        self._add_line(
            agents={"agent": {"reward": finite(reward), "length": length}},
            reward=reward,
            episode_length=length,
            mean_reward=sum(self._rewards) / len(self._rewards),
            mean_length=sum(self._lengths) / len(self._lengths),
            terms=shaped["terms"],
            **shaped["values"],
        )

    def _tell_update(self) -> None:
        now = time.perf_counter()
        if self.updates == self._updates_told or now - self._update_told_at < _UPDATE_LINES_EVERY_S:
            return
        self._updates_told, self._update_told_at = self.updates, now
        values = update_values(self.logger.name_to_value)
        if values and self._gradients is not None and self._insight is not None:
            values |= (
                self._clock.split() | self._gradients.take() | self._insight.take(self.updates)
            )
            self._add_line(**values)

    def _add_line(
        self,
        agents: dict[str, dict[str, messages.Number]] | None = None,
        terms: Mapping[str, float] | None = None,
        **values: Any,
    ) -> None:
        self._lines_told += 1
        self._lines.append(
            messages.Line(
                t=datetime.now(UTC).replace(tzinfo=None).isoformat(timespec="milliseconds") + "Z",
                timesteps=self.num_timesteps,
                vec_steps=self.n_calls,
                updates=self.updates,
                episode=self._episodes,
                elapsed_s=round(self._clock.elapsed, 3),
                fps=self._fps(),
                progress=min(1.0, self.num_timesteps / self.total),
                values={name: finite(value) for name, value in values.items()},
                agents=agents or {},
                terms={name: finite(value) for name, value in (terms or {}).items()},
            )
        )

    def _report(self, now: float) -> None:
        self._reported = now
        self._speed.append((now, self.num_timesteps))
        if not self._lines and now - self._lines_at >= _LINE_EVERY_S:
            self._add_line()
        self._send_lines()
        self._channel.send(
            messages.Progressed(
                timesteps=self.num_timesteps,
                vec_steps=self.n_calls,
                updates=self.updates,
                episodes=self._episodes,
                elapsed_s=round(self._clock.elapsed, 3),
                fps=self._fps(),
            )
        )
        self._hand_out_weights(now)
        if self.n_calls >= self._warns_at:
            self._warn_of_no_end()

    def _send_lines(self) -> None:
        if self._lines:
            self._lines_at = time.perf_counter()
        has_terms = any(line.terms for line in self._lines)
        at_once = _LINES_WITH_TERMS if has_terms else _LINES_PER_MESSAGE
        for start in range(0, len(self._lines), at_once):
            lines = tuple(self._lines[start : start + at_once])
            self._channel.send(messages.Measured(lines=lines))
        self._lines.clear()

    def _warn_of_slow_step(self, seconds: float) -> None:
        if not self._has_warned_of_slow_step:
            self._has_warned_of_slow_step = True
            text = f"One step of the environments took {seconds:,.0f} s. Training will take long."
            self._note("slow_environment", text, is_warning=True)

    def _warn_of_no_end(self) -> None:
        self._warns_at = math.inf  # type: ignore[assignment]  # never again until one ends
        text = f"No episode has ended in {_NO_END_IN:,} steps. Set wrappers.time_limit to cut them."
        self._note("no_episode_end", text, is_warning=True)

    def _note(self, event_type: str, message: str, *, is_warning: bool) -> None:
        self._channel.send(
            messages.Noted(event_type=event_type, message=message, is_warning=is_warning)
        )

    def _fps(self) -> float | None:
        (began, first), (ended, last) = self._speed[0], self._speed[-1]
        return round((last - first) / (ended - began), 1) if last > first else None

    def _hand_out_weights(self, now: float) -> None:
        if self._control.is_asked_for_weights:
            self._control.is_asked_for_weights = False
            self._send_weights("asked")
        sent_at, sent_update = self._weights_sent
        if not self._control.watched:
            self._weights_sent = (-math.inf, -1)
        elif now - sent_at >= _WEIGHTS_EVERY_S and self.updates != sent_update:
            self._weights_sent = (now, self.updates)
            self._send_weights("view")

    def _send_weights(self, purpose: Literal["view", "asked"]) -> None:
        header = messages.WeightsHeader(
            episode=self._episodes, timesteps=self.num_timesteps, purpose=purpose
        )
        self._channel.send_weights(header, save_weights(self.model, self._envs))
