"""Send the policy during training: for the live view, and on request."""

import math
from typing import Literal

from stable_baselines3.common.base_class import BaseAlgorithm
from stable_baselines3.common.vec_env import VecEnv

from app.protocol import Channel, Control, messages
from app.worker.models.models import save_weights

_EVERY_S = 1.0


class PolicySender:
    """Sends weights at most once a second while there are viewers, and once when requested."""

    def __init__(self, envs: VecEnv, channel: Channel, control: Control) -> None:
        self._envs = envs
        self._channel = channel
        self._control = control
        self._sent: tuple[float, int] = (-math.inf, -1)
        """Time and update of the last weights that were sent to the live view."""

    def send_if_wanted(
        self, model: BaseAlgorithm, progress: messages.Progressed, now: float
    ) -> None:
        """Send the weights if they were requested, or if the live view needs newer ones."""
        if self._control.weights_requested:
            self._control.weights_requested = False
            self._send(model, progress, "asked")
        sent_at, sent_update = self._sent
        if not self._control.watched:
            self._sent = (-math.inf, -1)
        elif now - sent_at >= _EVERY_S and progress.updates != sent_update:
            self._sent = (now, progress.updates)
            self._send(model, progress, "view")

    def _send(
        self,
        model: BaseAlgorithm,
        progress: messages.Progressed,
        purpose: Literal["view", "asked"],
    ) -> None:
        header = messages.WeightsHeader(
            episode=progress.episodes, timesteps=progress.timesteps, purpose=purpose
        )
        self._channel.send_weights(header, save_weights(model, self._envs))
