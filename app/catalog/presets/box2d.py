"""Presets of the Box2D family."""

from app.catalog.presets.spec import Preset, PresetName

_LANDER_PPO = {
    "n_steps": 128,
    "batch_size": 256,
    "n_epochs": 8,
    "gamma": 0.995,
    "gae_lambda": 0.95,
    "ent_coef": 0.003,
    "learning_rate": "1.5e-3 -> 0",
}
_LANDER_STEADY = {**_LANDER_PPO, "gamma": 0.999, "learning_rate": "1e-3 -> 0"}
_WALKER_PPO = {
    "n_steps": 256,
    "batch_size": 512,
    "n_epochs": 10,
    "gamma": 0.99,
    "gae_lambda": 0.95,
    "clip_range": 0.18,
    "learning_rate": "5e-4 -> 0",
}
_SCALED_REWARD = {"normalize_reward": True}
_SCALED = {"normalize_observation": True, "normalize_reward": True}

_LANDER_HIGH = Preset(
    total_timesteps=1_000_000, n_envs=32, hyperparameters=_LANDER_STEADY, wrappers=_SCALED_REWARD
)

BOX2D = {
    ("LunarLander-v3", "PPO"): {
        PresetName.FAST: Preset(
            total_timesteps=300_000,
            n_envs=32,
            hyperparameters=_LANDER_PPO,
            wrappers=_SCALED_REWARD,
        ),
        PresetName.HIGH_SCORE: _LANDER_HIGH,
    },
    ("LunarLanderContinuous-v3", "PPO"): {PresetName.HIGH_SCORE: _LANDER_HIGH},
    ("BipedalWalker-v3", "PPO"): {
        PresetName.HIGH_SCORE: Preset(
            total_timesteps=5_000_000, n_envs=32, hyperparameters=_WALKER_PPO, wrappers=_SCALED
        ),
    },
}
