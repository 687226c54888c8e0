"""Watch a model learn: episodes, losses, speed, and the wish to stop."""

import math
import time
from collections import deque
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

import torch
from stable_baselines3.common.base_class import BaseAlgorithm
from stable_baselines3.common.callbacks import BaseCallback
from stable_baselines3.common.on_policy_algorithm import OnPolicyAlgorithm
from stable_baselines3.common.save_util import recursive_getattr

from app.worker import messages
from app.worker.channel import Channel, Control
from app.worker.keeper import CheckpointKeeper
from app.worker.models import save_weights

_REPORT_EVERY_S = 0.4
_WEIGHTS_EVERY_S = 1.0
_SPEED_REPORTS = 12
"""The speed shown is that of the last dozen reports, about five seconds."""
_MEAN_OVER = 100
_LINES_PER_MESSAGE = 500
_STOP_WITHIN_S = 0.5
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
_UPDATE_NAMES = {
    "train/loss": "loss",
    "train/policy_gradient_loss": "policy_loss",
    "train/value_loss": "value_loss",
    "train/entropy_loss": "entropy_loss",
    "train/approx_kl": "approx_kl",
    "train/clip_fraction": "clip_fraction",
    "train/clip_range": "clip_range",
    "train/explained_variance": "explained_variance",
    "train/std": "std",
    "train/learning_rate": "learning_rate",
    "train/actor_loss": "actor_loss",
    "train/critic_loss": "critic_loss",
    "train/ent_coef": "ent_coef",
    "train/ent_coef_loss": "ent_coef_loss",
    "train/policy_objective": "policy_objective",
    "train/kl_divergence_loss": "kl_divergence",
    "train/policy_loss": "policy_loss",
    "rollout/exploration_rate": "exploration_rate",
}
_STANDS_FOR_LOSS = ("critic_loss", "value_loss")
"""Where an algorithm has no loss in one number, its critic's is the one to watch."""
_UPDATE_LINES_EVERY_S = 0.05


class StopRequestedError(Exception):
    """The lab wants the job to end; raised in the middle of an update."""


class Reporter(BaseCallback):
    """Tells the lab what happens, in batches, so that telling costs next to nothing."""

    def __init__(
        self,
        total_timesteps: int,
        channel: Channel,
        control: Control,
        keeper: CheckpointKeeper,
        counts: Mapping[str, Any] = _NOTHING_COUNTED,
    ) -> None:
        super().__init__()
        self._total = total_timesteps
        self._channel = channel
        self._control = control
        self._keeper = keeper
        self._began = time.perf_counter() - counts["elapsed_s"]
        self._reported = time.perf_counter()
        self._lines: list[messages.Line] = []
        self._lines_told: int = counts["lines"]
        self._rewards: deque[float] = deque(counts["rewards"], maxlen=_MEAN_OVER)
        self._lengths: deque[int] = deque(counts["lengths"], maxlen=_MEAN_OVER)
        self._episodes: int = counts["episodes"]
        self._rollouts: int = counts["rollouts"]
        self._updates_told: int = counts["updates_told"]
        self.n_calls = counts["vec_steps"]
        self._speed: deque[tuple[float, int]] = deque(maxlen=_SPEED_REPORTS)
        self._weights_sent: tuple[float, int] = (-math.inf, -1)
        self._stop_seen_at: float | None = None
        self._update_told_at = -math.inf

    def counts(self) -> dict[str, Any]:
        """Return what has been counted, to go on from it; taken at the start of a rollout."""
        return {
            "elapsed_s": time.perf_counter() - self._began,
            "lines": self._lines_told,
            "rewards": list(self._rewards),
            "lengths": list(self._lengths),
            "episodes": self._episodes,
            # The rollout that begins now will begin once more.
            "rollouts": self._rollouts - 1,
            "updates_told": self._updates_told,
            "vec_steps": self.n_calls,
        }

    @property
    def updates(self) -> int:
        """How often the model has learned: rollouts on-policy, gradient steps off-policy."""
        if self._is_on_policy:
            return max(0, self._rollouts - 1)
        return int(self.model._n_updates)

    def close(self) -> None:
        """Send what is left."""
        self._update_told_at = -math.inf
        self._tell_update()
        self._report(time.perf_counter())

    def _on_training_start(self) -> None:
        for optimizer in _optimizers(self.model):
            optimizer.register_step_post_hook(self._on_gradient_step)
        self._speed.append((time.perf_counter(), self.num_timesteps))
        self._report(time.perf_counter())

    def _on_rollout_start(self) -> None:
        self._rollouts += 1
        if self._is_on_policy:
            self._tell_update()
            self._keeper.between_rollouts(self.model, self.counts)
            return
        ends = self._control.stop_requested or self._control.paused
        self._keeper.between_rollouts(self.model, self.counts, now=ends)
        self._wait_if_paused()
        if self._control.stop_requested:
            raise StopRequestedError

    def _on_step(self) -> bool:
        if self.locals["dones"].any():
            for info in self.locals["infos"]:
                if episode := info.get("episode"):
                    self._tell_episode(float(episode["r"]), int(episode["l"]))
        now = time.perf_counter()
        if now - self._reported >= _REPORT_EVERY_S:
            self._tell_update()
            self._report(now)
        if self._is_on_policy:
            self._wait_if_paused()
        return not self._must_stop_here(now)

    def _on_gradient_step(self, *_: object) -> None:
        """Keep in touch during long updates, and stop or wait in the middle of one."""
        now = time.perf_counter()
        if self._must_stop_here(now):
            raise StopRequestedError
        if now - self._reported >= _REPORT_EVERY_S:
            self._report(now)
        if self._is_on_policy:
            self._wait_if_paused()

    def _on_training_end(self) -> None:
        if not self._control.stop_requested:
            # The last rollout was learned from, too; no further one says so.
            self._rollouts += 1
        self.close()

    @property
    def _is_on_policy(self) -> bool:
        return isinstance(self.model, OnPolicyAlgorithm)

    def _must_stop_here(self, now: float) -> bool:
        """Off-policy, the next rollout is a better place to stop, if it comes soon."""
        if not self._control.stop_requested:
            return False
        if self._is_on_policy:
            return True
        self._stop_seen_at = self._stop_seen_at or now
        return now - self._stop_seen_at > _STOP_WITHIN_S

    def _wait_if_paused(self) -> None:
        if not self._control.paused or self._control.stop_requested:
            return
        self._report(time.perf_counter())
        self._keeper.deliver()
        self._channel.send(messages.Paused(on=True))
        paused_at = time.perf_counter()
        self._control.wait_while_paused(lambda: self._hand_out_weights(time.perf_counter()))
        self._began += time.perf_counter() - paused_at
        self._speed.clear()
        self._speed.append((time.perf_counter(), self.num_timesteps))
        self._channel.send(messages.Paused(on=False))

    def _tell_episode(self, reward: float, length: int) -> None:
        self._episodes += 1
        self._rewards.append(reward)
        self._lengths.append(length)
        self._add_line(
            reward=reward,
            episode_length=length,
            mean_reward=sum(self._rewards) / len(self._rewards),
            mean_length=sum(self._lengths) / len(self._lengths),
        )

    def _tell_update(self) -> None:
        now = time.perf_counter()
        if self.updates == self._updates_told or now - self._update_told_at < _UPDATE_LINES_EVERY_S:
            return
        self._updates_told, self._update_told_at = self.updates, now
        logged = self.logger.name_to_value
        values = {ours: logged[name] for name, ours in _UPDATE_NAMES.items() if name in logged}
        stand_in = next((values[name] for name in _STANDS_FOR_LOSS if name in values), None)
        if stand_in is not None:
            values.setdefault("loss", stand_in)
        if values:
            self._add_line(**values)

    def _add_line(self, **values: Any) -> None:
        self._lines_told += 1
        self._lines.append(
            messages.Line(
                t=datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%S.%f")[:-3] + "Z",
                timesteps=self.num_timesteps,
                vec_steps=self.n_calls,
                updates=self.updates,
                episode=self._episodes,
                elapsed_s=round(time.perf_counter() - self._began, 3),
                fps=self._fps(),
                progress=min(1.0, self.num_timesteps / self._total),
                values={name: _finite(value) for name, value in values.items()},
            )
        )

    def _report(self, now: float) -> None:
        self._reported = now
        self._speed.append((now, self.num_timesteps))
        for start in range(0, len(self._lines), _LINES_PER_MESSAGE):
            lines = tuple(self._lines[start : start + _LINES_PER_MESSAGE])
            self._channel.send(messages.Measured(lines=lines))
        self._lines.clear()
        self._channel.send(
            messages.Progressed(
                timesteps=self.num_timesteps,
                vec_steps=self.n_calls,
                updates=self.updates,
                episodes=self._episodes,
                elapsed_s=round(now - self._began, 3),
                fps=self._fps(),
            )
        )
        self._hand_out_weights(now)

    def _fps(self) -> float | None:
        (began, first), (ended, last) = self._speed[0], self._speed[-1]
        return round((last - first) / (ended - began), 1) if last > first else None

    def _hand_out_weights(self, now: float) -> None:
        sent_at, sent_update = self._weights_sent
        if not self._control.watched:
            self._weights_sent = (-math.inf, -1)
        elif now - sent_at >= _WEIGHTS_EVERY_S and self.updates != sent_update:
            self._weights_sent = (now, self.updates)
            header = messages.WeightsHeader(episode=self._episodes, timesteps=self.num_timesteps)
            self._channel.send_weights(header, save_weights(self.model))


def _optimizers(model: BaseAlgorithm) -> list[torch.optim.Optimizer]:
    names = [name for name in model._get_torch_save_params()[0] if name.endswith("optimizer")]
    return [recursive_getattr(model, name) for name in names]


def _finite(value: Any) -> messages.Number:  # noqa: ANN401 - a number of any library
    """Turn NumPy's and torch's numbers into Python's, and what isn't finite into None."""
    if value is None:
        return None
    number = value.item() if hasattr(value, "item") else value
    return number if math.isfinite(number) else None
