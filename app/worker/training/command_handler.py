"""Handle the requests of the web process during training: stop, pause, changes, evaluations."""

import time
from collections.abc import Callable

from app.protocol import Channel, Control, Request, messages

_ROLLOUT_END_TIMEOUT_S = 0.5
"""How long a stop or a pause waits for the end of a rollout."""


class CommandHandler:
    """Decides when to stop or pause, and passes changes and evaluation results on."""

    def __init__(
        self,
        control: Control,
        channel: Channel,
        *,
        on_request: Callable[[Request], None],
        on_pause: Callable[[], None],
        while_paused: Callable[[], None],
        on_resume: Callable[[float], None],
    ) -> None:
        """Set the callbacks; `on_resume` gets the duration of the pause in seconds."""
        self._control = control
        self._channel = channel
        self._on_request = on_request
        self._on_pause = on_pause
        self._while_paused = while_paused
        self._on_resume = on_resume
        self._requested_at: float | None = None
        """When the stop or pause was noticed that waits for the end of a rollout."""

    @property
    def stop_requested(self) -> bool:
        """Whether training must end as soon as possible."""
        return self._control.stop_requested

    @property
    def is_interrupted(self) -> bool:
        """Whether a stop or a pause was requested."""
        return self._control.stop_requested or self._control.paused

    def handle_requests(self) -> None:
        """Pass on the requests that arrived since the last call."""
        for request in self._control.take_requests():
            self._on_request(request)

    def must_end_here(self, now: float, *, may_pause: bool) -> bool:
        """Pause, or return whether to stop; first give the rollout a short time to end."""
        if not self.is_interrupted:
            self._requested_at = None
            return False
        self._requested_at = self._requested_at or now
        if now - self._requested_at <= _ROLLOUT_END_TIMEOUT_S:
            return False
        if may_pause:
            self.wait_if_paused()
        return self.stop_requested

    def wait_if_paused(self) -> None:
        """Wait for the end of a pause, if there is one."""
        if not self._control.paused or self.stop_requested:
            return
        self._on_pause()
        self._channel.send(messages.Paused(on=True))
        paused_at = time.perf_counter()
        self._control.wait_while_paused(self._poll_while_paused)
        self._on_resume(time.perf_counter() - paused_at)
        self._requested_at = None
        self._channel.send(messages.Paused(on=False))

    def _poll_while_paused(self) -> None:
        self._while_paused()
        self.handle_requests()
