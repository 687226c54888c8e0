"""Replay buffers that store each frame once, although it is in many stacked observations."""

from typing import Any

import numpy as np
from gymnasium import spaces
from numpy.typing import NDArray
from stable_baselines3.common.buffers import NStepReplayBuffer, ReplayBuffer
from stable_baselines3.common.off_policy_algorithm import OffPolicyAlgorithm

Pixels = NDArray[Any]
_Place = tuple[int, int]
"""The position of a transition in the buffer, and its environment."""


def store_frames_once(model: OffPolicyAlgorithm, buffer_size: int, stack: int) -> None:
    """Give a model on stacked images a buffer of this size.

    SB3's own stores each frame `2 * stack` times. The model's file still names that one, so that
    it can be used without this program.
    """
    kind, more = FrameBuffer, dict[str, Any]()
    if model.n_steps > 1:
        kind, more = NStepFrameBuffer, {"n_steps": model.n_steps, "gamma": model.gamma}
    assert isinstance(model.observation_space, spaces.Box)
    model.buffer_size = buffer_size
    model.replay_buffer = kind(
        buffer_size,
        model.observation_space,
        model.action_space,
        device=model.device,
        n_envs=model.n_envs,
        stack=stack,
        **more,
    )


class _Observations:
    """Looks like the array of all (next) observations, and stacks those that are read."""

    def __init__(self, buffer: "FrameBuffer", *, is_next: bool) -> None:
        self._buffer = buffer
        self._is_next = is_next

    def __getitem__(self, which: tuple[Any, ...]) -> Pixels:
        positions, envs = which[:2]
        read = self._buffer.next_observations_at if self._is_next else self._buffer.observations_at
        return read(positions, envs)

    def __setitem__(self, _: int, batch: Pixels) -> None:
        """Ignore SB3's assignment: `FrameBuffer.add` stores the frames."""


class FrameBuffer(ReplayBuffer):
    """Samples exactly what SB3's `ReplayBuffer` does.

    A transition has the newest frame of its observation; the frames before it are those of the
    transitions before. Frames from before the beginning of an episode are black, as
    `VecFrameStack` has them. What can't be put together that way is stored as it is.
    """

    def __init__(
        self,
        buffer_size: int,
        observation_space: spaces.Box,
        action_space: spaces.Space[Any],
        *,
        stack: int,
        **more: Any,
    ) -> None:
        """Store `stack` frames in an observation, along its first axis."""
        # With empty observations, so that SB3 allocates nothing for them.
        super().__init__(buffer_size, spaces.Box(0, 1, (0,), np.uint8), action_space, **more)
        self.observation_space, self.obs_shape = observation_space, observation_space.shape
        channels, *sides = observation_space.shape
        self._stack = stack
        self._shape = (channels // stack, *sides)
        rows = self.buffer_size + stack - 1
        self._frames = np.zeros((rows, self.n_envs, *self._shape), observation_space.dtype)
        self._rows = np.zeros(self.buffer_size, np.int64)
        """The row of each transition's newest frame."""
        self._earlier = np.zeros((self.buffer_size, self.n_envs), np.int64)
        """How many of the frames before belong to the same episode."""
        self._whole: dict[_Place, Pixels] = {}
        """Observations that frames of other transitions don't make up."""
        self._whole_next: dict[_Place, Pixels] = {}
        self._ends: dict[_Place, Pixels] = {}
        """Next frames that the following transition doesn't begin with: of ends of episodes."""
        self._newest: tuple[int, Pixels] | None = None
        """The position of the newest transition, and its next frames."""
        self._row = 0
        self.observations = _Observations(self, is_next=False)  # type: ignore[assignment]
        self.next_observations = _Observations(self, is_next=True)  # type: ignore[assignment]

    def add(
        self, obs: NDArray[Any], next_obs: NDArray[Any], *transition: Any, **named: Any
    ) -> None:
        """Store a transition of each environment."""
        position = self.pos
        now, after = self._split(obs), self._split(next_obs)
        self._begin(now)
        for index in range(self.n_envs):
            for table in (self._whole, self._whole_next, self._ends):
                table.pop((position, index), None)
        self._frames[self._row] = now[:, -1]
        self._rows[position] = self._row
        for index in range(self.n_envs):
            self._link(position, index, now[index], after[index])
        self._row = (self._row + 1) % len(self._frames)
        self._newest = position, after[:, -1].copy()
        super().add(obs, next_obs, *transition, **named)

    def _split(self, observations: NDArray[Any]) -> Pixels:
        return observations.reshape(self.n_envs, self._stack, *self._shape)

    def _begin(self, now: Pixels) -> None:
        """Store the earlier frames of the first observations, and ends of the last transitions."""
        if self._newest is None:
            self._frames[: self._stack - 1] = np.moveaxis(now[:, :-1], 1, 0)
            self._row = self._stack - 1
            return
        last, frames = self._newest
        for index, frame in enumerate(frames):
            if not np.array_equal(frame, now[index, -1]):
                self._ends[last, index] = frame

    def _link(self, position: int, index: int, now: Pixels, after: Pixels) -> None:
        """Find out how many earlier frames belong to an observation."""
        before = self._newest
        most = self._stack - 1
        longest = most if before is None else min(self._earlier[before[0], index] + 1, most)
        at = np.array([position]), np.array([index])
        for count in (longest, 0):
            self._earlier[position, index] = count
            if np.array_equal(self._stacked(*at)[0], now):
                break
        else:
            self._whole[position, index] = now.copy()
        if not np.array_equal(now[1:], after[:-1]):
            self._whole_next[position, index] = after.copy()

    def observations_at(self, positions: NDArray[Any], envs: NDArray[Any]) -> Pixels:
        """Return the observations of transitions."""
        return self._stacked(positions, envs).reshape(-1, *self.obs_shape)

    def next_observations_at(self, positions: NDArray[Any], envs: NDArray[Any]) -> Pixels:
        """Return the observations after transitions."""
        assert self._newest is not None
        last, newest = self._newest
        following = self._frames[(self._rows[positions] + 1) % len(self._frames), envs]
        stacked = np.concatenate([self._stacked(positions, envs)[:, 1:], following[:, None]], 1)
        for index, place in enumerate(zip(positions.tolist(), envs.tolist(), strict=True)):
            if place in self._whole_next:
                stacked[index] = self._whole_next[place]
            elif place in self._ends:
                stacked[index, -1] = self._ends[place]
            elif place[0] == last:
                stacked[index, -1] = newest[place[1]]
        return stacked.reshape(-1, *self.obs_shape)

    def _stacked(self, positions: NDArray[Any], envs: NDArray[Any]) -> Pixels:
        back = np.arange(self._stack - 1, -1, -1)
        rows = (self._rows[positions][:, None] - back) % len(self._frames)
        stacked: Pixels = self._frames[rows, envs[:, None]]
        stacked[back > self._earlier[positions, envs][:, None]] = 0
        if self._whole:
            for index, place in enumerate(zip(positions.tolist(), envs.tolist(), strict=True)):
                if place in self._whole:
                    stacked[index] = self._whole[place]
        return stacked


class NStepFrameBuffer(FrameBuffer, NStepReplayBuffer):
    """Samples exactly what SB3's `NStepReplayBuffer` does."""
