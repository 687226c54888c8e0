"""Presets of the Box2D family."""

from app.catalog.presets.spec import Preset, for_budgets

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
    "n_steps": 512,
    "batch_size": 512,
    "n_epochs": 10,
    "gamma": 0.99,
    "gae_lambda": 0.95,
    "clip_range": 0.18,
    "learning_rate": "7e-4 -> 0",
}
_WALKER_STEADY = {**_WALKER_PPO, "n_steps": 256, "learning_rate": "5e-4 -> 0"}
_RACER_PPO = {
    "n_steps": 512,
    "batch_size": 128,
    "n_epochs": 10,
    "gamma": 0.99,
    "gae_lambda": 0.95,
    "learning_rate": "1e-4 -> 0",
}
_SCALED_REWARD = {"normalize_reward": True}
_SCALED = {"normalize_observation": True, "normalize_reward": True}

_LANDER = (
    Preset(
        total_timesteps=300_000, n_envs=32, hyperparameters=_LANDER_PPO, wrappers=_SCALED_REWARD
    ),
    Preset(
        total_timesteps=500_000, n_envs=32, hyperparameters=_LANDER_STEADY, wrappers=_SCALED_REWARD
    ),
    Preset(
        total_timesteps=1_000_000,
        n_envs=32,
        hyperparameters=_LANDER_STEADY,
        wrappers=_SCALED_REWARD,
    ),
)

BOX2D = {
    ("LunarLander-v3", "PPO"): _LANDER,
    ("LunarLanderContinuous-v3", "PPO"): _LANDER,
    ("BipedalWalker-v3", "PPO"): (
        *(
            Preset(total_timesteps=steps, n_envs=32, hyperparameters=_WALKER_PPO, wrappers=_SCALED)
            for steps in (1_000_000, 2_500_000)
        ),
        Preset(
            total_timesteps=5_000_000,
            n_envs=32,
            hyperparameters=_WALKER_STEADY,
            wrappers=_SCALED,
        ),
    ),
    ("BipedalWalkerHardcore-v3", "PPO"): for_budgets(
        2_000_000,
        5_000_000,
        10_000_000,
        n_envs=32,
        hyperparameters=_WALKER_STEADY,
        wrappers=_SCALED,
    ),
    ("CarRacing-v3", "PPO"): for_budgets(
        250_000,
        1_000_000,
        4_000_000,
        n_envs=8,
        hyperparameters=_RACER_PPO,
        wrappers={"frame_stack": 2, "normalize_reward": True},
    ),
}
