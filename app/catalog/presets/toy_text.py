"""Presets of the toy-text family."""

from app.catalog.presets.spec import Preset, PresetName

_LAKE = {
    "n_steps": 128,
    "batch_size": 256,
    "n_epochs": 8,
    "gae_lambda": 0.95,
    "ent_coef": 0.01,
    "learning_rate": "1e-3 -> 0",
}

TOY_TEXT = {
    ("FrozenLake-v1", "PPO"): {
        PresetName.STABLE: Preset(total_timesteps=200_000, n_envs=16, hyperparameters=_LAKE),
    },
}
