"""One file that plays an exported policy with onnxruntime and gymnasium alone."""

import json

from storage.records.runs import JsonObject

_SCRIPT = '''"""Play {env_id} with policy.onnx, which lies beside this file.

Needs onnxruntime and gymnasium alone: python play.py [--episodes 5] [--seed 0] [--show]
"""

import argparse
import json
from pathlib import Path

import gymnasium as gym
import numpy as np
import onnxruntime

ENV_ID = {env_text}
ENV_KWARGS = json.loads({kwargs_text})


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--episodes", type=int, default=5)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--show", action="store_true")
    asked = parser.parse_args()
    policy = onnxruntime.InferenceSession(str(Path(__file__).with_name("policy.onnx")))
    env = gym.make(ENV_ID, render_mode="human" if asked.show else None, **ENV_KWARGS)
    is_whole = isinstance(env.observation_space, gym.spaces.Discrete)
    for episode in range(asked.episodes):
        observation, _ = env.reset(seed=asked.seed + episode)
        total, is_over = 0.0, False
        while not is_over:
            seen = np.asarray([observation], dtype=np.int64 if is_whole else np.float32)
            action = policy.run(["action"], {{"observation": seen}})[0][0]
            observation, reward, terminated, truncated, _ = env.step(action)
            total, is_over = total + float(reward), terminated or truncated
        print(f"Episode {{episode + 1}}: return {{total:.6g}}")
    env.close()


if __name__ == "__main__":
    main()
'''


def play_script(config: JsonObject) -> str:
    """Return the script for a run's environment."""
    kwargs = dict(config.get("env_kwargs", {}))
    if (limit := config.get("wrappers", {}).get("time_limit")) is not None:
        kwargs["max_episode_steps"] = limit
    env_id = str(config["env_id"])
    return _SCRIPT.format(
        env_id=env_id, env_text=json.dumps(env_id), kwargs_text=repr(json.dumps(kwargs))
    )
