"""The separate process of `reward_cost`, sandboxed like a worker or not."""

import json
import os
import sys
import time
from collections.abc import Callable, Iterator
from typing import Any

_HEAD = "def reward(obs, action, next_obs, reward, terminated, truncated, info):\n    "
_REWARDS = {
    "a number": _HEAD + "return reward",
    "two terms": _HEAD + "return {'own': reward, 'first': -0.1 * float(next_obs[0])}",
}


def _answer() -> None:
    """Play the requests from standard input until it ends."""
    players: dict[tuple[str, ...], Callable[[], float]] = {}
    for line in sys.stdin:
        env_id, reward, kind = json.loads(line)
        play = players.setdefault((env_id, reward, kind), _ready(env_id, reward, kind))
        print(json.dumps(play() * 1e6 / _STEPS), flush=True)


def _ready(env_id: str, reward: str, kind: str) -> Callable[[], float]:
    from app.protocol import commands
    from app.worker.envs.custom_reward import CustomReward
    from app.worker.envs.replayable import Replayable
    from app.worker.envs.reward_functions import RewardFunction
    from app.worker.envs.vectorized.pipeline import make_wrapped

    setup = commands.Setup(env_id=env_id, algorithm="PPO", hyperparameters={})
    inner = make_wrapped(setup, setup.wrappers, unmonitored=True)
    function = RewardFunction(_REWARDS[reward])
    if kind == "function":
        return lambda: _time_function(inner, function)
    env = Replayable(inner) if kind == "bare" else CustomReward(inner, function)
    return lambda: _time_steps(env)


def _time_steps(env: Any) -> float:  # noqa: ANN401 - an environment
    actions = _actions(env)
    env.reset(seed=0)
    began = time.thread_time()
    for action in actions:
        _, _, terminated, truncated, _ = env.step(action)
        if terminated or truncated:
            env.reset()
    return time.thread_time() - began


def _time_function(env: Any, function: Any) -> float:  # noqa: ANN401 - an environment, a reward
    """Time the reward function alone, on as many different steps, without the loop's own time."""
    call, _ = function.for_one_environment()
    arguments = list(_steps(env))
    began = time.thread_time()
    for values in arguments:
        call(*values)
    duration = time.thread_time() - began
    began = time.thread_time()
    for _one in arguments:
        pass
    return duration - (time.thread_time() - began)


def _steps(env: Any) -> Iterator[tuple[Any, ...]]:  # noqa: ANN401 - an environment
    obs, _ = env.reset(seed=0)
    for action in _actions(env):
        next_obs, reward, terminated, truncated, info = env.step(action)
        yield obs, action, next_obs, float(reward), terminated, truncated, info
        obs = env.reset()[0] if terminated or truncated else next_obs


def _actions(env: Any) -> list[Any]:  # noqa: ANN401 - an environment
    env.action_space.seed(0)
    import numpy as np

    return list(np.array([env.action_space.sample() for _ in range(_STEPS)]))


def _enter_sandbox() -> None:
    import app.protocol
    import app.worker
    from app.worker.sandbox import lockdown

    packages = [*app.worker.__path__, *app.protocol.__path__]
    layers = lockdown.lock_down(packages, memory_mb=3_072)
    print(f"sandbox: {', '.join(layers)}", file=sys.stderr)


os.environ["SDL_VIDEODRIVER"] = "dummy"
_STEPS = int(sys.argv[2])
if sys.argv[1] == "sandbox":
    # Before anything that starts threads is imported.
    _enter_sandbox()
_answer()
