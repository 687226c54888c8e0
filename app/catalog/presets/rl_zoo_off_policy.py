"""RL Zoo's values for off-policy algorithms; what it omits has SB3's default."""

from collections.abc import Mapping
from typing import Any

from app.catalog.presets.spec import Preset

_NORMAL_NOISE = "The Zoo's Ornstein-Uhlenbeck noise is normal noise here."
_NO_EXPLN = "The Zoo's use_expln isn't available here."


def _zoo(steps: int, values: Mapping[str, Any], note: str = "") -> Preset:
    return Preset(total_timesteps=steps, n_envs=1, hyperparameters=values, note=note)


_LARGE_NET = {"net_arch": [256, 256]}
_CARTPOLE = {
    "learning_rate": 2.3e-3,
    "batch_size": 64,
    "buffer_size": 100_000,
    "learning_starts": 1_000,
    "target_update_interval": 10,
    "train_freq": 256,
    "gradient_steps": 128,
    "exploration_fraction": 0.16,
    "exploration_final_eps": 0.04,
    **_LARGE_NET,
}
_MOUNTAIN_CAR = {
    "learning_rate": 4e-3,
    "batch_size": 128,
    "buffer_size": 10_000,
    "learning_starts": 1_000,
    "gamma": 0.98,
    "target_update_interval": 600,
    "train_freq": 16,
    "gradient_steps": 8,
    "exploration_fraction": 0.2,
    "exploration_final_eps": 0.07,
    **_LARGE_NET,
}
_ACROBOT = {
    "learning_rate": 6.3e-4,
    "batch_size": 128,
    "buffer_size": 50_000,
    "learning_starts": 0,
    "target_update_interval": 250,
    "train_freq": 4,
    "gradient_steps": -1,
    "exploration_fraction": 0.12,
    "exploration_final_eps": 0.1,
    **_LARGE_NET,
}

DQN = {
    "CartPole-v1": _zoo(50_000, _CARTPOLE),
    "MountainCar-v0": _zoo(120_000, _MOUNTAIN_CAR),
    "LunarLander-v3": _zoo(100_000, _ACROBOT),
    "Acrobot-v1": _zoo(100_000, _ACROBOT),
}

QRDQN = {
    "CartPole-v1": _zoo(50_000, {**_CARTPOLE, "n_quantiles": 10}),
    "MountainCar-v0": _zoo(120_000, {**_MOUNTAIN_CAR, "n_quantiles": 25}),
    "LunarLander-v3": _zoo(
        100_000,
        {
            "learning_rate": "1.5e-3 -> 0",
            "batch_size": 128,
            "buffer_size": 100_000,
            "learning_starts": 10_000,
            "gamma": 0.995,
            "target_update_interval": 1,
            "train_freq": 256,
            "gradient_steps": -1,
            "exploration_fraction": 0.24,
            "exploration_final_eps": 0.18,
            "n_quantiles": 170,
            **_LARGE_NET,
        },
    ),
    "Acrobot-v1": _zoo(100_000, {**_ACROBOT, "n_quantiles": 25}),
}

_CONTINUOUS_CAR = {
    "learning_rate": 3e-4,
    "buffer_size": 50_000,
    "batch_size": 512,
    "ent_coef": 0.1,
    "train_freq": 32,
    "gradient_steps": 32,
    "gamma": 0.9999,
    "tau": 0.01,
    "learning_starts": 0,
    "use_sde": True,
    "log_std_init": -3.67,
    "net_arch": [64, 64],
}
_LANDER = {
    "learning_rate": "7.3e-4 -> 0",
    "buffer_size": 1_000_000,
    "tau": 0.01,
    "learning_starts": 10_000,
    "net_arch": [400, 300],
}
_WALKER = {
    "learning_rate": 7.3e-4,
    "buffer_size": 300_000,
    "gamma": 0.98,
    "tau": 0.02,
    "train_freq": 64,
    "gradient_steps": 64,
    "learning_starts": 10_000,
    "use_sde": True,
    "log_std_init": -3.0,
    "net_arch": [400, 300],
}
_LATE_START = {"learning_starts": 10_000}
_SAC_AND_TQC = {
    "MountainCarContinuous-v0": _zoo(50_000, _CONTINUOUS_CAR),
    "Pendulum-v1": _zoo(20_000, {"learning_rate": 1e-3}),
    "LunarLanderContinuous-v3": _zoo(500_000, _LANDER),
    "BipedalWalker-v3": _zoo(500_000, _WALKER),
    **{
        env_id: _zoo(1_000_000, _LATE_START)
        for env_id in ("HalfCheetah-v5", "Ant-v5", "Hopper-v5", "Walker2d-v5")
    },
    "Humanoid-v5": _zoo(2_000_000, _LATE_START),
    "Swimmer-v5": _zoo(1_000_000, {**_LATE_START, "gamma": 0.999}),
}

SAC = {
    **_SAC_AND_TQC,
    "BipedalWalkerHardcore-v3": _zoo(10_000_000, {**_LANDER, "ent_coef": 0.005}),
}

TQC = {
    **_SAC_AND_TQC,
    "BipedalWalkerHardcore-v3": _zoo(2_000_000, _LANDER),
    "Hopper-v5": _zoo(1_000_000, {**_LATE_START, "top_quantiles_to_drop_per_net": 5}),
}

_NOISY = {"learning_starts": 10_000, "action_noise": 0.1, "net_arch": [400, 300]}
_SHORT_SIGHTED = {**_NOISY, "gamma": 0.98, "buffer_size": 200_000}

TD3 = {
    "MountainCarContinuous-v0": _zoo(300_000, {"action_noise": 0.5}, _NORMAL_NOISE),
    "Pendulum-v1": _zoo(20_000, _SHORT_SIGHTED),
    "LunarLanderContinuous-v3": _zoo(300_000, _SHORT_SIGHTED),
    "BipedalWalker-v3": _zoo(1_000_000, _SHORT_SIGHTED),
    "BipedalWalkerHardcore-v3": _zoo(10_000_000, {**_NOISY, "learning_rate": "7e-4 -> 0"}),
    **{
        env_id: _zoo(1_000_000, _NOISY)
        for env_id in ("HalfCheetah-v5", "Ant-v5", "Hopper-v5", "Walker2d-v5")
    },
    "Humanoid-v5": _zoo(2_000_000, _NOISY),
    "Swimmer-v5": _zoo(1_000_000, {**_NOISY, "gamma": 0.9999}),
}

_WIDE_CRITICS = {
    "learning_starts": 5_000,
    "net_arch": {"pi": [256, 256], "qf": [2048, 2048]},
}

CROSSQ = {
    "MountainCarContinuous-v0": _zoo(
        50_000,
        {
            "learning_rate": 7e-4,
            "buffer_size": 50_000,
            "train_freq": 32,
            "gradient_steps": 32,
            "gamma": 0.9999,
            "learning_starts": 100,
            "use_sde": True,
            "policy_delay": 2,
            "log_std_init": -1.0,
            "net_arch": [64, 64],
        },
        _NO_EXPLN,
    ),
    "Pendulum-v1": _zoo(20_000, {"policy_delay": 2, **_LARGE_NET}),
    "LunarLanderContinuous-v3": _zoo(200_000, _LATE_START),
    "BipedalWalker-v3": _zoo(200_000, {**_LATE_START, "buffer_size": 300_000, "gamma": 0.98}),
    **{
        env_id: _zoo(5_000_000, _WIDE_CRITICS)
        for env_id in ("HalfCheetah-v5", "Ant-v5", "Hopper-v5", "Walker2d-v5", "Humanoid-v5")
    },
    "Swimmer-v5": _zoo(5_000_000, {**_WIDE_CRITICS, "gamma": 0.999}),
}
