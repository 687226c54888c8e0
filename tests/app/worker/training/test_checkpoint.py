"""Training resumed from a checkpoint is bit-identical to uninterrupted training."""

import io
import os
import zipfile

os.environ.setdefault("SDL_VIDEODRIVER", "dummy")

from typing import Any

import numpy as np
import pytest
import torch
from stable_baselines3.common.base_class import BaseAlgorithm
from stable_baselines3.common.callbacks import BaseCallback
from stable_baselines3.common.vec_env import VecEnv
from torch.utils._pytree import tree_map_only

from app.protocol import commands
from app.run_config.config import RunConfig
from app.run_config.engine import EngineChoice
from app.run_config.request import RunRequest
from app.worker.envs.vectorized.pipeline import (
    make_evaluation_envs,
    make_training_envs,
    save_statistics,
)
from app.worker.models.models import build_model, load_weights, save_weights
from app.worker.training.checkpoint import _plain, _read_state, restore, take_checkpoint
from tests.lab_server import ROOT

pytestmark = pytest.mark.slow
# As in a worker; several threads on tiny tensors only contend.
torch.set_num_threads(1)

ROLLOUT = {"n_steps": 32, "net_arch": [8], "batch_size": 32}
MEMORY = {"learning_starts": 50, "batch_size": 16, "net_arch": [8], "buffer_size": 1_000}
EVERYTHING = {
    "normalize_observation": True,
    "normalize_reward": True,
    "sticky_actions": 0.2,
    "observation_noise": 0.05,
    "action_noise": 0.1,
    "frame_stack": 3,
    "frame_skip": 2,
    "time_limit": 100,
    "randomize": {"gravity": [8.0, 11.0], "length": [0.4, 0.6]},
}
SCALED = {"normalize_observation": True, "normalize_reward": True}
CASES: list[tuple[str, str, dict[str, Any], dict[str, Any]]] = [
    ("PPO", "CartPole-v1", {**ROLLOUT, "learning_rate": "1e-3 -> 0"}, EVERYTHING),
    ("A2C", "CartPole-v1", {"net_arch": {"pi": [8], "vf": [4, 6]}}, {}),
    ("A2C", "LunarLander-v3", {"net_arch": [8]}, SCALED),
    ("TRPO", "Acrobot-v1", ROLLOUT, {}),
    ("RecurrentPPO", "Pendulum-v1", {**ROLLOUT, "lstm_hidden_size": 8}, {}),
    ("MaskablePPO", "MountainCar-v0", ROLLOUT, {}),
    ("PPO", "FrozenLake-v1", ROLLOUT, {}),
    ("MaskablePPO", "Taxi-v4", ROLLOUT, {}),
    ("DQN", "CliffWalking-v1", MEMORY, {"time_limit": 50}),
    ("ARS", "CartPole-v1", {"n_delta": 2, "learning_rate": "0.02 -> 0"}, {}),
    ("DQN", "CartPole-v1", {**MEMORY, "layer_norm": True}, {"frame_stack": 2}),
    ("QRDQN", "MountainCar-v0", MEMORY, {}),
    ("SAC", "Pendulum-v1", MEMORY, {"normalize_observation": True, "normalize_reward": True}),
    ("TD3", "Pendulum-v1", MEMORY, {"action_noise": 0.1}),
    ("TQC", "Pendulum-v1", MEMORY, {}),
    ("CrossQ", "Pendulum-v1", MEMORY, {}),
    ("DQN", "ALE/SpaceInvaders-v5", {**MEMORY, "buffer_size": 120, "n_steps": 3}, {}),
    ("DQN", "SpaceInvadersNoFrameskip-v4", {**MEMORY, "net_arch": []}, {"time_limit": 60}),
]


FAST_CASES = [
    *(case for case in CASES if case[0] in ("PPO", "A2C")),
    ("DQN", "CliffWalking-v1", MEMORY, {"time_limit": 50}),
    ("DQN", "CartPole-v1", {**MEMORY, "tau": 0.1}, {**SCALED, "frame_stack": 2}),
    ("PPO", "Pendulum-v1", ROLLOUT, SCALED),
    ("A2C", "Pendulum-v1", {"net_arch": [8], "use_rms_prop": False}, {}),
    ("SAC", "Pendulum-v1", MEMORY, SCALED),
    ("TD3", "Pendulum-v1", MEMORY, {"action_noise": 0.1}),
    ("TQC", "Pendulum-v1", MEMORY, {}),
]


class TakesCheckpoint(BaseCallback):
    """Takes one checkpoint at the start of the first rollout after some steps."""

    def __init__(self, envs: VecEnv, after: int) -> None:
        super().__init__()
        self.checkpoint: bytes | None = None
        self._envs = envs
        self._after = after

    def _on_rollout_start(self) -> None:
        if self.checkpoint is None and self.num_timesteps >= self._after:
            self.checkpoint = take_checkpoint(self.model, self._envs, {})

    def _on_step(self) -> bool:
        return True


def setup_of(
    algorithm: str,
    env_id: str,
    values: dict[str, Any],
    wrappers: dict[str, Any],
    engine: EngineChoice = "sb3",
) -> commands.Setup:
    request = RunRequest(
        env_id=env_id,
        algorithm=algorithm,
        hyperparameters=values,
        wrappers=wrappers,
        engine=engine,
    )
    return RunConfig.from_request(request).setup()


def learn(model: BaseAlgorithm, steps: int, callback: BaseCallback | None = None) -> None:
    left = steps - model.num_timesteps
    model.learn(left, callback=callback, log_interval=None, reset_num_timesteps=False)  # type: ignore[arg-type]


@pytest.mark.parametrize(("algorithm", "env_id", "values", "wrappers"), CASES)
def test_a_checkpoint_restores_everything(
    algorithm: str, env_id: str, values: dict[str, Any], wrappers: dict[str, Any]
) -> None:
    setup = setup_of(algorithm, env_id, values, wrappers)
    assert_restores_everything(setup, 1 if algorithm in ("ARS", "CrossQ") else 2)


@pytest.mark.parametrize(("algorithm", "env_id", "values", "wrappers"), FAST_CASES)
def test_a_checkpoint_of_the_fast_engine_restores_everything(
    algorithm: str, env_id: str, values: dict[str, Any], wrappers: dict[str, Any]
) -> None:
    setup = setup_of(algorithm, env_id, values, wrappers, engine="fast")
    assert_restores_everything(setup, 2)


def assert_restores_everything(setup: commands.Setup, n_envs: int) -> None:
    # ARS plays several episodes between two checkpoints.
    steps = 420 if setup.algorithm == "ARS" else 240
    envs = make_training_envs(setup, n_envs)
    whole = build_model(setup, envs, seed=3)
    callback = TakesCheckpoint(envs, 100)
    learn(whole, steps, callback)
    assert callback.checkpoint is not None

    fresh = make_training_envs(setup, n_envs)
    restored = restore(callback.checkpoint, setup, fresh)
    assert restored.notes == []
    assert 100 <= restored.model.num_timesteps < steps
    learn(restored.model, steps)

    ours, theirs = whole.policy.state_dict(), restored.model.policy.state_dict()
    assert all((ours[name] == theirs[name]).all() for name in ours)
    assert save_statistics(envs) == save_statistics(fresh)


def test_weights_include_the_observation_normalization() -> None:
    setup = setup_of("PPO", "CartPole-v1", ROLLOUT, SCALED)
    envs = make_training_envs(setup, 2)
    model = build_model(setup, envs, seed=3)
    learn(model, 200)
    played = make_evaluation_envs(setup)
    played.reset()
    raw = played.get_original_obs()  # type: ignore[attr-defined]
    before = played.normalize_obs(raw)  # type: ignore[attr-defined]

    load_weights(model, played, save_weights(model, envs))

    after = played.normalize_obs(raw)  # type: ignore[attr-defined]
    assert not np.allclose(before, after)
    assert save_statistics(played) == save_statistics(envs)


def test_an_environment_whose_replay_diverges_begins_a_new_episode() -> None:
    setup = setup_of("PPO", "CartPole-v1", ROLLOUT, {"frame_stack": 2, **SCALED})
    envs = make_training_envs(setup, 2)
    model = build_model(setup, envs, seed=3)
    callback = TakesCheckpoint(envs, 100)
    learn(model, 300, callback)
    assert callback.checkpoint is not None
    other = make_training_envs(setup, 2)
    other.set_attr("gravity", 20.0, indices=1)
    inner: Any = other.unwrapped
    inner.envs[1].unwrapped.gravity = 20.0

    restored = restore(callback.checkpoint, setup, other)

    assert restored.notes == ["1 environments could not be restored and started a new episode."]
    assert restored.model._last_episode_starts is not None
    assert bool(restored.model._last_episode_starts[1])
    learn(restored.model, 300)


def test_a_checkpoint_of_version_0_1_is_restored_and_saved_unchanged() -> None:
    setup = setup_of("PPO", "CartPole-v1", {"n_steps": 64, "net_arch": [8]}, {}, engine="fast")
    with zipfile.ZipFile(ROOT / "tests" / "fixtures" / "lab-0.1.zip") as lab:
        name = next(name for name in lab.namelist() if name.endswith("checkpoints/128.zip"))
        packed = lab.read(name)
    envs = make_training_envs(setup, 2)

    restored = restore(packed, setup, envs)
    again = take_checkpoint(restored.model, envs, restored.counts)

    assert restored.notes == []
    before, after = state_of(packed), state_of(again)
    np.testing.assert_equal(after, before)
    assert after["episodes"]
    # It does not depend on the module of a class.
    assert b"app." not in member_of(again, "state.pkl")


def state_of(checkpoint: bytes) -> dict[str, Any]:
    """Return the content of a checkpoint as plain values."""
    with zipfile.ZipFile(io.BytesIO(member_of(checkpoint, "model.zip"))) as model:
        parts = ("policy.pth", "policy.optimizer.pth")
        weights = [torch.load(io.BytesIO(model.read(part)), weights_only=True) for part in parts]
    state = {**_plain(_read_state(member_of(checkpoint, "state.pkl"))), "weights": weights}
    content: dict[str, Any] = tree_map_only(torch.Tensor, lambda tensor: tensor.numpy(), state)
    return content


def member_of(checkpoint: bytes, name: str) -> bytes:
    with zipfile.ZipFile(io.BytesIO(checkpoint)) as packed:
        return packed.read(name)
