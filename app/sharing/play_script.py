"""Generate a script that plays an exported policy without the lab."""

import json

from app.run_config import RunConfig

_SCRIPT = '''"""Play {env_id} with policy.onnx, which must be in the folder of this file.

Needs onnxruntime and gymnasium{needs}: python play.py [--episodes 5] [--seed 0] [--show]
"""

import argparse
import json
from pathlib import Path

{imports}import gymnasium as gym
import numpy as np
import onnxruntime

ENV_ID = {env_text}
ENV_KWARGS = json.loads({kwargs_text})
{register}

def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--episodes", type=int, default=5)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--show", action="store_true")
    args = parser.parse_args()
    policy = onnxruntime.InferenceSession(str(Path(__file__).with_name("policy.onnx")))
    env = gym.make(ENV_ID, render_mode="human" if args.show else None, **ENV_KWARGS)
    is_discrete = isinstance(env.observation_space, gym.spaces.Discrete)
    for episode in range(args.episodes):
        observation, _ = env.reset(seed=args.seed + episode)
        total, is_over = 0.0, False
        while not is_over:
            batch = np.asarray([observation], dtype=np.int64 if is_discrete else np.float32)
            action = policy.run(["action"], {{"observation": batch}})[0][0]
            observation, reward, terminated, truncated, _ = env.step(action)
            total, is_over = total + float(reward), terminated or truncated
        print(f"Episode {{episode + 1}}: return {{total:.6g}}")
    env.close()


if __name__ == "__main__":
    main()
'''


REGISTER = """
_classes = [
    one
    for one in vars(environment).values()
    if isinstance(one, type) and issubclass(one, gym.Env) and one.__module__ == "environment"
]
# The class that no other one extends.
(ENV_CLASS,) = [one for one in _classes if sum(issubclass(other, one) for other in _classes) == 1]
gym.register(
    ENV_ID,
    entry_point=ENV_CLASS,
    max_episode_steps=getattr(ENV_CLASS, "max_episode_steps", None),
)
"""


def play_script(config: RunConfig) -> str:
    """Return the script for a run's environment."""
    kwargs = dict(config.env_kwargs)
    if config.wrappers.time_limit is not None:
        kwargs["max_episode_steps"] = config.wrappers.time_limit
    is_custom = config.env_code is not None
    return _SCRIPT.format(
        imports="import environment\n" if is_custom else "",
        register=REGISTER if is_custom else "",
        env_id=config.env_id,
        needs=", and environment.py in the same folder" if is_custom else " alone",
        env_text=json.dumps(config.env_id),
        kwargs_text=repr(json.dumps(kwargs)),
    )
