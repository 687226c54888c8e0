from typing import Any

import numpy as np
import onnx
import onnxruntime
import pytest
import torch

from app.protocol import commands
from app.run_config.config import RunConfig
from app.run_config.request import RunRequest
from app.worker.envs.custom import register
from app.worker.envs.vectorized.pipeline import make_evaluation_envs, normalizer
from app.worker.export.onnx_export import NotExportableError, write_policy
from app.worker.models.models import build_for_playing

NET: dict[str, Any] = {"net_arch": [16, 8]}
WRAPPERS = ("normalize_observation", "frame_stack")
CASES: dict[str, tuple[str, str, dict[str, Any]]] = {
    "PPO, discrete": ("PPO", "CartPole-v1", {"activation_fn": "tanh"}),
    "PPO, continuous": ("PPO", "Pendulum-v1", {"activation_fn": "relu"}),
    "PPO, states": ("PPO", "FrozenLake-v1", {"activation_fn": "elu"}),
    "PPO, layer norm": ("PPO", "CartPole-v1", {"activation_fn": "tanh", "layer_norm": True}),
    "A2C": ("A2C", "Acrobot-v1", {}),
    "TRPO": ("TRPO", "MountainCarContinuous-v0", {}),
    "DQN": ("DQN", "MountainCar-v0", {"buffer_size": 1_000}),
    "QRDQN": ("QRDQN", "CartPole-v1", {"buffer_size": 1_000, "n_quantiles": 5}),
    "SAC": ("SAC", "Pendulum-v1", {"buffer_size": 1_000}),
    "TD3": ("TD3", "Pendulum-v1", {"buffer_size": 1_000}),
    "TQC": ("TQC", "Pendulum-v1", {"buffer_size": 1_000}),
}


def setup_of(env_id: str, algorithm: str, **values: Any) -> commands.Setup:
    wrappers = {name: values.pop(name) for name in WRAPPERS if name in values}
    request = RunRequest(
        env_id=env_id, algorithm=algorithm, hyperparameters=values, wrappers=wrappers
    )
    return RunConfig.from_request(request).setup()


@pytest.mark.parametrize("scaled", [False, True])
@pytest.mark.parametrize("case", CASES)
def test_an_exported_policy_acts_like_the_model(case: str, *, scaled: bool) -> None:
    algorithm, env_id, values = CASES[case]
    scaled = scaled and env_id != "FrozenLake-v1"
    setup = setup_of(env_id, algorithm, normalize_observation=scaled, **NET, **values)
    torch.manual_seed(0)
    envs = make_evaluation_envs(setup)
    model = build_for_playing(setup, envs)
    rng = np.random.default_rng(0)
    if (normalization := normalizer(envs)) is not None:
        rms: Any = normalization.obs_rms
        rms.mean, rms.var = rng.normal(size=rms.mean.shape), rng.uniform(0.1, 4, rms.var.shape)
    space = envs.unwrapped.observation_space
    space.seed(0)
    observations = np.stack([np.asarray(space.sample()) for _ in range(64)])
    observations = (
        observations.clip(-20, 20)
        if observations.dtype == np.float32
        else observations.astype(np.int64)
    )

    content = write_policy(setup, model, envs)

    onnx.checker.check_model(onnx.load_from_string(content), full_check=True)
    session = onnxruntime.InferenceSession(content)
    actions = session.run(["action"], {"observation": observations})[0]
    inputs = (
        normalization.normalize_obs(observations)
        if normalization is not None and scaled
        else observations
    )
    expected, _ = model.predict(inputs, deterministic=True)
    if actions.dtype == np.int64:
        assert (actions == expected).all()
    else:
        np.testing.assert_allclose(actions, expected, atol=2e-5)


def test_policies_that_need_the_labs_wrappers_are_not_exported() -> None:
    for setup, sentence in (
        (setup_of("CartPole-v1", "PPO", frame_stack=2), "frame_stack"),
        (setup_of("GridWorld-v0", "PPO"), "GridWorld-v0"),
        (setup_of("Blackjack-v1", "PPO"), "lab's wrappers"),
    ):
        envs = make_evaluation_envs(setup)
        with pytest.raises(NotExportableError, match=sentence):
            write_policy(setup, build_for_playing(setup, envs), envs)


PICTURES = '''
import gymnasium as gym
import numpy as np


class Pictures(gym.Env):
    """Pictures smaller than those that a CNN needs."""

    max_episode_steps = 10

    def __init__(self, channels_first=False, render_mode=None):
        shape = (3, 8, 10) if channels_first else (8, 10, 3)
        self.observation_space = gym.spaces.Box(0, 255, shape, np.uint8)
        self.action_space = gym.spaces.Discrete(4)

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        return self._picture(), {}

    def step(self, action):
        return self._picture(), float(action), False, False, {}

    def _picture(self):
        return self.np_random.integers(0, 256, self.observation_space.shape, np.uint8)
'''


@pytest.mark.parametrize("channels_first", [False, True])
def test_an_exported_policy_for_small_pictures_acts_like_the_model(*, channels_first: bool) -> None:
    register("custom/pictures-v1", PICTURES)
    setup = commands.Setup(
        env_id="custom/pictures-v1",
        algorithm="PPO",
        hyperparameters={"n_steps": 64, "batch_size": 64},
        policy={"net_arch": (32,), "activation_fn": "tanh"},
        env_kwargs={"channels_first": channels_first},
        env_code=PICTURES,
    )
    torch.manual_seed(0)
    envs = make_evaluation_envs(setup)
    model = build_for_playing(setup, envs)
    # An untrained policy prefers no action, whatever it sees.
    with torch.no_grad():
        model.policy.action_net.weight.mul_(100)  # type: ignore[operator, union-attr]
    space = envs.unwrapped.observation_space
    space.seed(0)
    pictures = np.stack([space.sample() for _ in range(256)])

    content = write_policy(setup, model, envs)

    session = onnxruntime.InferenceSession(content)
    actions = session.run(["action"], {"observation": pictures.astype(np.float32)})[0]
    expected, _ = model.predict(pictures, deterministic=True)
    assert len(set(expected.tolist())) > 1
    assert (actions == expected).all()
