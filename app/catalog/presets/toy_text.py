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

_TAXI = {**_LAKE, "ent_coef": 0.05, "learning_rate": "2e-3 -> 0"}

_STALLS = (
    "Measured: with the defaults, PPO stays at -200 here after 500,000 steps, the score of never "
    "setting anybody down. Choose the preset Stable, which normalizes rewards and explores more, "
    "or MaskablePPO, which takes only legal actions."
)

NOTES_ON_DEFAULTS = {("Taxi-v4", "PPO"): _STALLS}
"""What to know before training with the defaults, by environment and algorithm."""

TOY_TEXT = {
    ("FrozenLake-v1", "PPO"): {
        PresetName.STABLE: Preset(total_timesteps=200_000, n_envs=16, hyperparameters=_LAKE),
    },
    ("Taxi-v4", "PPO"): {
        PresetName.STABLE: Preset(
            total_timesteps=500_000,
            n_envs=32,
            hyperparameters=_TAXI,
            wrappers={"normalize_reward": True},
        ),
    },
    ("CliffWalking-v1", "PPO"): {
        PresetName.STABLE: Preset(
            total_timesteps=200_000,
            n_envs=16,
            hyperparameters=_LAKE,
            wrappers={"normalize_reward": True},
        ),
    },
    ("Blackjack-v1", "PPO"): {
        PresetName.STABLE: Preset(
            total_timesteps=200_000, n_envs=16, hyperparameters={**_LAKE, "gamma": 1.0}
        ),
    },
    ("FrozenLake8x8-v1", "PPO"): {
        PresetName.STABLE: Preset(
            total_timesteps=1_000_000, n_envs=16, hyperparameters={**_LAKE, "gamma": 0.999}
        ),
    },
    ("Taxi-v4", "MaskablePPO"): {
        PresetName.STABLE: Preset(
            total_timesteps=200_000,
            n_envs=16,
            hyperparameters=_LAKE,
            wrappers={"normalize_reward": True},
        ),
    },
}
