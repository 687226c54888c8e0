"""Atari games, preprocessed as their protocol says."""

import pickle
from collections.abc import Iterator, Mapping
from typing import Any, SupportsFloat

import gymnasium as gym
import numpy as np
from gymnasium import spaces
from gymnasium.envs.registration import EnvSpec

from app.protocol import FRAME_SKIP, NO_FRAMESKIP, STICKY_ACTIONS, V5, AtariProtocol

_MAX_NOOPS = 30
_SIDE = 84


def is_atari(spec: EnvSpec) -> bool:
    """Whether a spec is that of an Atari game."""
    return str(spec.entry_point).startswith("ale_py")


def make_atari(
    spec: EnvSpec, env_kwargs: Mapping[str, Any], *, rendered: bool, original: bool
) -> gym.Env[Any, Any]:
    """Make a game; an `original` one neither clips rewards nor ends episodes at lost lives.

    In both protocols the agent observes 84 x 84 pixels and acts every fourth frame, and training
    clips rewards to their sign. `v5` leaves everything else to the emulator. `NoFrameskip-v4`
    begins with up to 30 no-ops and, where a game needs it, with fire, observes the maximum of two
    frames, and in training ends an episode at each lost life.

    Raises:
        ValueError: if there is no such protocol.
    """
    from stable_baselines3.common import atari_wrappers as sb3

    options = dict(env_kwargs)
    is_grey = options.pop("greyscale", True)
    protocol = _protocol(spec, options.pop("protocol", None))
    is_classic = protocol == NO_FRAMESKIP
    sticky = options.pop("repeat_action_probability", None)
    env: gym.Env[Any, Any] = gym.make(
        spec,
        render_mode="rgb_array" if rendered else None,
        frameskip=1 if is_classic else FRAME_SKIP,
        repeat_action_probability=STICKY_ACTIONS[protocol] if sticky is None else sticky,
        **options,
    )
    if is_classic:
        env = sb3.MaxAndSkipEnv(sb3.NoopResetEnv(env, noop_max=_MAX_NOOPS), skip=FRAME_SKIP)
        if not original:
            env = sb3.EpisodicLifeEnv(env)
        if "FIRE" in env.unwrapped.get_action_meanings():  # type: ignore[attr-defined]  # ALE's
            env = sb3.FireResetEnv(env)
    env = sb3.WarpFrame(env, width=_SIDE, height=_SIDE) if is_grey else _SmallColorFrame(env)
    return GameReward(env, is_clipped=not original)


def _protocol(spec: EnvSpec, given: str | None) -> AtariProtocol:
    if given is None:
        # Other versions of the ids skip frames at random, which nobody's preprocessing expects.
        return V5 if spec.version == 5 else NO_FRAMESKIP
    for protocol in STICKY_ACTIONS:
        if given == protocol:
            return protocol
    raise ValueError(f"protocol must be {' or '.join(STICKY_ACTIONS)}, got {given!r}.")


class _SmallColorFrame(gym.ObservationWrapper[Any, Any, Any]):
    """Shrinks frames as SB3's `WarpFrame` does, and keeps their colors."""

    def __init__(self, env: gym.Env[Any, Any]) -> None:
        super().__init__(env)
        self.observation_space = spaces.Box(0, 255, (_SIDE, _SIDE, 3), np.uint8)

    def observation(self, observation: Any) -> Any:  # noqa: ANN401 - an image
        """Shrink a frame."""
        import cv2

        return cv2.resize(observation, (_SIDE, _SIDE), interpolation=cv2.INTER_AREA)


class GameReward(gym.Wrapper[Any, Any, Any, Any]):
    """Sums the rewards of a whole game, and then clips them to their sign if asked to."""

    def __init__(self, env: gym.Env[Any, Any], *, is_clipped: bool) -> None:
        super().__init__(env)
        self._is_clipped = is_clipped
        self.game_return = 0.0

    def step(
        self,
        action: Any,  # noqa: ANN401 - any action
    ) -> tuple[Any, SupportsFloat, bool, bool, dict[str, Any]]:
        """Act; the clipped reward is also in the info."""
        observation, reward, terminated, truncated, info = self.env.step(action)
        self.game_return += float(reward)
        clipped = np.sign(float(reward))
        info = {**info, "clipped_reward": clipped}
        return observation, clipped if self._is_clipped else reward, terminated, truncated, info


class WholeGames(gym.Wrapper[Any, Any, Any, Any]):
    """Reports the return and the agent's steps of whole games, and can limit these.

    The outermost wrapper of a game: a lost life, for which an episode may end, is not its end.
    """

    def __init__(self, env: gym.Env[Any, Any], limit: int | None) -> None:
        super().__init__(env)
        self._limit = limit
        self._rewards = next(layer for layer in _layers(env) if isinstance(layer, GameReward))
        self._lives: Any = next(
            (one for one in _layers(env) if hasattr(one, "was_real_done")), None
        )
        self._steps = 0
        self._is_over = True

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Any, dict[str, Any]]:
        """Begin a game, or continue after a lost life."""
        if self._is_over or seed is not None:
            self._steps, self._rewards.game_return, self._is_over = 0, 0.0, False
            if self._lives is not None:
                self._lives.was_real_done = True
        began = self._frames
        result = self.env.reset(seed=seed, options=options)
        if self._frames < began:
            # The no-op after a lost life can end the game: a new one has begun.
            self._steps, self._rewards.game_return = 0, 0.0
        return result

    @property
    def _frames(self) -> int:
        emulator: Any = self.unwrapped
        return int(emulator.ale.getEpisodeFrameNumber())

    def step(
        self,
        action: Any,  # noqa: ANN401 - any action
    ) -> tuple[Any, SupportsFloat, bool, bool, dict[str, Any]]:
        """Act; at the end of a game add its return and length to the info, as `Monitor` does."""
        observation, reward, terminated, truncated, info = self.env.step(action)
        self._steps += 1
        self._is_over = terminated or truncated
        if self._lives is not None:
            self._is_over = self._lives.was_real_done
        if self._steps == self._limit and not self._is_over:
            truncated = self._is_over = True
        if self._is_over:
            played = {"r": round(self._rewards.game_return, 6), "l": self._steps}
            info = {**info, "episode": {**played, "t": 0.0}}
        return observation, reward, terminated, truncated, info

    def snapshot(self) -> dict[str, Any]:
        """Return the state of the emulator and of all wrappers."""
        emulator: Any = self.unwrapped
        return {
            "emulator": pickle.dumps(emulator.clone_state(include_rng=True)),
            "random": self.unwrapped.np_random.bit_generator.state,
            "wrappers": [_state_of(layer) for layer in _layers(self)],
        }

    def restore(self, snapshot: Mapping[str, Any]) -> None:
        """Continue from a snapshot of an equally made game."""
        # Gymnasium refuses steps before the first reset.
        self.env.reset(seed=0)
        emulator: Any = self.unwrapped
        # The emulator offers no other form; only sandboxed workers open checkpoints.
        emulator.restore_state(pickle.loads(snapshot["emulator"]))
        emulator.np_random.bit_generator.state = snapshot["random"]
        for layer, state in zip(_layers(self), snapshot["wrappers"], strict=True):
            for name, value in state.items():
                setattr(layer, name, value)


_STATE = (
    "_steps",
    "_is_over",
    "game_return",
    "lives",
    "was_real_done",
    "_obs_buffer",
    "_elapsed_steps",
    "_last",
)
"""Attributes of the wrappers, ours, SB3's and Gymnasium's, that change from step to step."""


def _state_of(layer: gym.Env[Any, Any]) -> dict[str, Any]:
    found = {name: vars(layer)[name] for name in _STATE if name in vars(layer)}
    return {
        name: value.copy() if isinstance(value, np.ndarray) else value
        for name, value in found.items()
    }


def _layers(env: gym.Env[Any, Any]) -> Iterator[gym.Env[Any, Any]]:
    """Yield an environment and everything that it wraps, without the emulator."""
    while isinstance(env, gym.Wrapper):
        yield env
        env = env.env
