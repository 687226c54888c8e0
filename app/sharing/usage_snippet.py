"""The code of "Use it" in a model card: load the model, and play one episode as the lab does."""

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from app.catalog.algorithms import AlgorithmSpec, get_algorithm
from app.catalog.environments import EnvSpec
from app.protocol import (
    ENVIRONMENT_FILE,
    EVALUATION_LIMIT,
    FRAME_SKIP,
    NO_FRAMESKIP,
    STICKY_ACTIONS,
    V5,
)
from app.run_config import RunConfig
from app.sharing.play_script import REGISTER

_OF_THE_LAB = ("bandits", "grid world")
"""Families of environments that only the lab has."""

_EPISODE = """\
env.seed(0)
observation, done, total = env.reset(), False, 0.0
while not done:
    action, _ = model.predict(observation, deterministic=True)
    observation, rewards, dones, _ = env.step(action)
    done, total = dones[0], total + float(rewards[0])
print(f"Return: {total:.10g}")"""

_RECURRENT_EPISODE = """\
env.seed(0)
observation, done, total = env.reset(), False, 0.0
state, is_start = None, np.array([True])
while not done:
    action, state = model.predict(
        observation, state=state, episode_start=is_start, deterministic=True
    )
    observation, rewards, is_start, _ = env.step(action)
    done, total = is_start[0], total + float(rewards[0])
print(f"Return: {total:.10g}")"""

_MASKED_EPISODE = """\
env.seed(0)
observation, done, total = env.reset(), False, 0.0
while not done:
    (masks,) = env.env_method("action_masks")
    action, _ = model.predict(observation, action_masks=masks, deterministic=True)
    observation, rewards, dones, _ = env.step(action)
    done, total = dones[0], total + float(rewards[0])
print(f"Return: {total:.10g}")"""

_FRAME_SKIP = """\
class FrameSkip(gym.Wrapper):
    def step(self, action):
        total = 0.0
        for _ in range({times}):
            observation, reward, terminated, truncated, info = self.env.step(action)
            total += float(reward)
            if terminated or truncated:
                break
        return observation, total, terminated, truncated, info
"""

_ACTION_MASKS = """\
class ActionMasks(gym.Wrapper):
    def reset(self, **options):
        observation, self.info = self.env.reset(**options)
        return observation, self.info

    def step(self, action):
        *results, self.info = self.env.step(action)
        return *results, self.info

    def action_masks(self):
        own = getattr(self.env.unwrapped, "action_masks", None)
        return own() if own is not None else self.info.get("action_mask")
"""

_MASKS_OF_KEPT = _ACTION_MASKS.replace(
    'return own() if own is not None else self.info.get("action_mask")',
    'mask = own() if own is not None else self.info.get("action_mask")\n'
    "        return None if mask is None else [mask[action] for action in KEPT]",
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Uploaded:
    """The repository and its files, as far as the snippet loads them."""

    repo_id: str
    model: str
    normalization: str | None


def usage_snippet(config: RunConfig, uploaded: Uploaded) -> str:
    """Return a program that plays one episode like an evaluation of the lab on the same seed."""
    snippet = _Snippet(config, uploaded)
    return "\n".join(snippet.lines()) + "\n"


def needs_the_lab(config: RunConfig) -> bool:
    """Whether the snippet runs only in the lab's folder, because only the lab has the task."""
    return config.environment.family in _OF_THE_LAB


class _Snippet:
    """The parts of the program, in the order in which it is printed."""

    def __init__(self, config: RunConfig, uploaded: Uploaded) -> None:
        self._config = config
        self._uploaded = uploaded
        self._spec: EnvSpec = config.environment
        self._algorithm: AlgorithmSpec = get_algorithm(config.algorithm)

    @property
    def _is_atari(self) -> bool:
        return self._spec.family == "atari"

    @property
    def _is_recurrent(self) -> bool:
        return "lstm_hidden_size" in self._config.hyperparameters

    def lines(self) -> Iterator[str]:
        yield from self._imports()
        yield ""
        if self._config.env_code is not None:
            path = self._download(ENVIRONMENT_FILE)
            yield f"sys.path.insert(0, str(Path({path}).parent))"
            yield "import environment"
            yield ""
            yield f"ENV_ID = {json.dumps(self._config.env_id)}"
            yield REGISTER.strip()
            yield ""
        if self._is_atari:
            yield "gym.register_envs(ale_py)"
        if needs_the_lab(self._config):
            yield "register_project_envs()"
        yield from self._classes()
        yield from self._make()
        yield ""
        yield from self._vectorized()
        yield self._model()
        yield ""
        yield self._episode()

    def _imports(self) -> Iterator[str]:
        if self._config.env_code is not None:
            yield "import sys"
            yield "from pathlib import Path"
            yield ""
        if self._is_atari:
            yield "import ale_py"
        yield "import gymnasium as gym"
        if self._is_recurrent:
            yield "import numpy as np"
        yield "from huggingface_hub import hf_hub_download"
        yield from self._imported_wrappers()
        yield f"from {self._algorithm.library} import {self._algorithm.id}"
        if self._is_atari and (names := ", ".join(self._atari_classes())):
            yield f"from stable_baselines3.common.atari_wrappers import {names}"
        yield f"from stable_baselines3.common.vec_env import {', '.join(self._vec_classes())}"
        if needs_the_lab(self._config):
            yield "from app.worker.envs.environments import register_project_envs"

    def _imported_wrappers(self) -> Iterator[str]:
        by_module: dict[str, list[str]] = {}
        for wrapper in self._spec.observation_wrappers:
            module, _, name = wrapper.partition(":")
            by_module.setdefault(module, []).append(name)
        for module, names in by_module.items():
            yield f"from {module} import {', '.join(names)}"

    def _vec_classes(self) -> list[str]:
        wrappers = self._config.wrappers
        stack = ["VecFrameStack"] if wrappers.frame_stack > 1 else []
        normalize = ["VecNormalize"] if self._uploaded.normalization else []
        return ["DummyVecEnv", *stack, *normalize]

    def _classes(self) -> Iterator[str]:
        """Yield the wrappers that neither Gymnasium nor SB3 has."""
        if self._config.wrappers.frame_skip > 1:
            yield ""
            yield _FRAME_SKIP.format(times=self._config.wrappers.frame_skip)
        if self._algorithm.masks_actions:
            yield ""
            yield _MASKS_OF_KEPT if self._kept_actions() else _ACTION_MASKS
        if kept := self._kept_actions():
            yield f"KEPT = {kept}  # the environment's numbers of the agent's actions"

    def _make(self) -> Iterator[str]:
        yield ""
        yield "def make_env():"
        yield f"    env = gym.make({', '.join(self._make_arguments())})"
        if self._is_atari:
            yield from self._atari_wrappers()
        for wrapper in self._spec.observation_wrappers:
            yield f"    env = {wrapper.partition(':')[2]}(env)"
        if kept := self._kept_actions():
            yield f"    actions = gym.spaces.Discrete({len(kept)})"
            yield "    env = gym.wrappers.TransformAction(env, lambda one: KEPT[one], actions)"
        if self._config.wrappers.frame_skip > 1:
            yield "    env = FrameSkip(env)"
        if self._limits_decisions:
            yield f"    env = gym.wrappers.TimeLimit(env, {self._config.wrappers.time_limit})"
        if self._algorithm.masks_actions:
            yield "    env = ActionMasks(env)"
        if self._spec.max_episode_steps is None and self._config.wrappers.time_limit is None:
            # Some policies never come to an end there.
            yield f"    env = gym.wrappers.TimeLimit(env, {EVALUATION_LIMIT})"
        yield "    return env"
        yield ""

    def _make_arguments(self) -> Iterator[str]:
        yield json.dumps(self._config.env_id)
        options = dict(self._config.env_kwargs)
        if self._is_atari:
            options = self._emulator_options(options)
        wrappers, limit = self._config.wrappers, self._config.wrappers.time_limit
        if limit is not None and not self._limits_decisions:
            repeats = wrappers.frame_skip if wrappers.time_limit_unit == "steps" else 1
            options["max_episode_steps"] = limit * repeats
        yield from (f"{name}={value!r}" for name, value in options.items())

    @property
    def _is_classic(self) -> bool:
        return bool(self._config.env_kwargs.get("protocol", V5) == NO_FRAMESKIP)

    @property
    def _is_grey(self) -> bool:
        return bool(self._config.env_kwargs.get("greyscale", True))

    @property
    def _limits_decisions(self) -> bool:
        """Whether the time limit counts the agent's decisions outside of a game's frame skip."""
        wrappers = self._config.wrappers
        is_set = wrappers.time_limit is not None and wrappers.time_limit_unit == "steps"
        return self._is_atari and is_set

    def _emulator_options(self, options: Mapping[str, object]) -> dict[str, object]:
        own = ("protocol", "greyscale", "repeat_action_probability")
        sticky = options.get("repeat_action_probability")
        protocol = NO_FRAMESKIP if self._is_classic else V5
        return {
            "frameskip": 1 if self._is_classic else FRAME_SKIP,
            "repeat_action_probability": STICKY_ACTIONS[protocol] if sticky is None else sticky,
            **{name: value for name, value in options.items() if name not in own},
        }

    def _atari_classes(self) -> tuple[str, ...]:
        """Return the names of SB3's wrappers that `_atari_wrappers` uses."""
        if self._is_grey:
            return ("AtariWrapper",) if self._is_classic else ("WarpFrame",)
        return ("FireResetEnv", "MaxAndSkipEnv", "NoopResetEnv") if self._is_classic else ()

    def _atari_wrappers(self) -> Iterator[str]:
        """Yield the preprocessing of `make_env` in the worker, for evaluations."""
        if self._is_grey:
            options = ", terminal_on_life_loss=False, clip_reward=False" if self._is_classic else ""
            yield f"    env = {self._atari_classes()[0]}(env{options})"
            return
        if self._is_classic:
            yield "    env = MaxAndSkipEnv(NoopResetEnv(env))"
            yield '    if "FIRE" in env.unwrapped.get_action_meanings():'
            yield "        env = FireResetEnv(env)"
        yield "    env = gym.wrappers.ResizeObservation(env, (84, 84))"

    def _kept_actions(self) -> list[int]:
        """Return the environment's numbers of the agent's actions, if it doesn't have all."""
        left_out = self._config.wrappers.left_out_actions
        count = (self._spec.n_actions or 0) + len(left_out)
        return [action for action in range(count) if action not in left_out] if left_out else []

    def _vectorized(self) -> Iterator[str]:
        yield "env = DummyVecEnv([make_env])"
        if (stack := self._config.wrappers.frame_stack) > 1:
            yield f"env = VecFrameStack(env, {stack})"
        if self._uploaded.normalization is not None:
            path = self._download(self._uploaded.normalization)
            yield f"env = VecNormalize.load({path}, env)"
            yield "env.training = False"
            yield "env.norm_reward = False"

    def _model(self) -> str:
        return f"model = {self._algorithm.id}.load({self._download(self._uploaded.model)})"

    def _download(self, name: str) -> str:
        return f'hf_hub_download("{self._uploaded.repo_id}", "{name}")'

    def _episode(self) -> str:
        if self._is_recurrent:
            return _RECURRENT_EPISODE
        return _MASKED_EPISODE if self._algorithm.masks_actions else _EPISODE
