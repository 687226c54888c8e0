"""Presets of the classic-control family."""

from collections.abc import Mapping
from typing import Any

from app.catalog.presets.spec import Preset, PresetName

_CARTPOLE_PPO = {
    "n_steps": 32,
    "batch_size": 256,
    "n_epochs": 10,
    "gamma": 0.98,
    "gae_lambda": 0.9,
    "learning_rate": "3e-3 -> 0",
    "clip_range": "0.2 -> 0",
}
_ACROBOT_DQN = {
    "learning_rate": "6.3e-4 -> 0",
    "batch_size": 128,
    "buffer_size": 50_000,
    "learning_starts": 0,
    "target_update_interval": 250,
    "train_freq": 4,
    "gradient_steps": -1,
    "exploration_fraction": 0.12,
    "exploration_final_eps": 0.1,
    "net_arch": [256, 256],
}
_ACROBOT_PPO = {
    "n_steps": 256,
    "batch_size": 64,
    "n_epochs": 4,
    "gae_lambda": 0.94,
    "learning_rate": "5e-4 -> 0",
}
_MOUNTAIN_CAR_PPO = {
    "n_steps": 128,
    "batch_size": 256,
    "n_epochs": 8,
    "gae_lambda": 0.98,
    "learning_rate": "1e-3 -> 0",
}
_MOUNTAIN_CAR_DQN = {
    "learning_rate": "4e-3 -> 0",
    "batch_size": 128,
    "buffer_size": 10_000,
    "learning_starts": 1_000,
    "gamma": 0.98,
    "target_update_interval": 600,
    "train_freq": 16,
    "gradient_steps": 8,
    "exploration_fraction": 0.2,
    "exploration_final_eps": 0.07,
    "net_arch": [256, 256],
}
_PENDULUM_PPO = {
    "n_steps": 1024,
    "batch_size": 64,
    "gamma": 0.9,
    "learning_rate": "1e-3 -> 0",
    "use_sde": True,
    "sde_sample_freq": 4,
}
_PENDULUM_SAC = {"learning_rate": 1e-3, "learning_starts": 500, "net_arch": [64, 64]}

_SCALED = {"normalize_observation": True, "normalize_reward": True}


def _only(
    name: PresetName, steps: int, values: Mapping[str, Any], **others: Any
) -> Mapping[PresetName, Preset]:
    """Return the one preset of a pair."""
    return {name: Preset(total_timesteps=steps, hyperparameters=values, **others)}


CLASSIC_CONTROL = {
    ("CartPole-v1", "PPO"): _only(PresetName.FAST, 80_000, _CARTPOLE_PPO, n_envs=32),
    ("Acrobot-v1", "PPO"): _only(
        PresetName.HIGH_SCORE, 1_000_000, _ACROBOT_PPO, n_envs=16, wrappers=_SCALED
    ),
    ("Acrobot-v1", "DQN"): _only(PresetName.STABLE, 100_000, _ACROBOT_DQN),
    ("MountainCar-v0", "PPO"): _only(
        PresetName.HIGH_SCORE, 1_000_000, _MOUNTAIN_CAR_PPO, n_envs=16, wrappers=_SCALED
    ),
    ("MountainCar-v0", "DQN"): _only(PresetName.STABLE, 120_000, _MOUNTAIN_CAR_DQN),
    ("Pendulum-v1", "SAC"): _only(PresetName.STABLE, 20_000, _PENDULUM_SAC),
    ("Pendulum-v1", "PPO"): _only(PresetName.STABLE, 100_000, _PENDULUM_PPO, n_envs=4),
}
