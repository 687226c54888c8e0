"""RL Zoo's values for Atari games, which it trains under the protocol NoFrameskip-v4.

From its `hyperparams/*.yml`, group `atari`; what it leaves to SB3 is written out here.
"""

from collections.abc import Mapping

from app.catalog.presets.spec import Preset

_BUDGET = 10_000_000
_STACKED = {"frame_stack": 4}
_NOTE = "RL Zoo trains the games under the protocol NoFrameskip-v4: set it to compare scores."
_FROM_REPLAY = {
    "batch_size": 32,
    "tau": 1.0,
    "gamma": 0.99,
    "train_freq": 4,
    "gradient_steps": 1,
    "exploration_final_eps": 0.01,
    "net_arch": [],
}

ATARI_ZOO: Mapping[str, Preset] = {
    "DQN": Preset(
        total_timesteps=_BUDGET,
        n_envs=1,
        hyperparameters={
            **_FROM_REPLAY,
            "learning_rate": 1e-4,
            "buffer_size": 100_000,
            "learning_starts": 100_000,
            "target_update_interval": 1_000,
            "exploration_fraction": 0.1,
        },
        wrappers=_STACKED,
        note=_NOTE,
    ),
    "QRDQN": Preset(
        total_timesteps=_BUDGET,
        n_envs=1,
        hyperparameters={
            **_FROM_REPLAY,
            "learning_rate": 5e-5,
            "learning_starts": 100,
            "target_update_interval": 10_000,
            "exploration_fraction": 0.025,
            "n_quantiles": 200,
            "max_grad_norm": None,
        },
        wrappers=_STACKED,
        note=_NOTE,
    ),
    "PPO": Preset(
        total_timesteps=_BUDGET,
        n_envs=8,
        hyperparameters={
            "n_steps": 128,
            "n_epochs": 4,
            "batch_size": 256,
            "learning_rate": "2.5e-4 -> 0",
            "clip_range": "0.1 -> 0",
            "vf_coef": 0.5,
            "ent_coef": 0.01,
            "gamma": 0.99,
            "gae_lambda": 0.95,
            "net_arch": [],
        },
        wrappers=_STACKED,
        note=_NOTE,
    ),
    "A2C": Preset(
        total_timesteps=_BUDGET,
        n_envs=16,
        hyperparameters={
            "n_steps": 5,
            "learning_rate": 7e-4,
            "ent_coef": 0.01,
            "vf_coef": 0.25,
            "gamma": 0.99,
            "gae_lambda": 1.0,
            "net_arch": [],
        },
        wrappers=_STACKED,
        note=f"{_NOTE} Its RMSpropTFLike is torch's RMSprop here.",
    ),
}
"""By algorithm, for every game."""
