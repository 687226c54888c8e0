"""RL Zoo's values for on-policy algorithms and ARS; what it omits has SB3's default.

Where the Zoo's minibatches are larger than a rollout, as SB3 allows, they are as large here.
"""

from typing import Any

from app.catalog.presets.spec import Preset

_SCALED = {"normalize_observation": True, "normalize_reward": True}
_SCALED_OBSERVATION = {"normalize_observation": True}
_GELU = "The Zoo's GELU activation is ReLU here."
_WHOLE_FRAMES = "The Zoo scales frames to 64 x 64 grey levels, the lab keeps 96 x 96 in color."
_NO_MISSION = "The Zoo adds the mission's text to observations, the lab leaves it out."

_MUJOCO_NETWORK: dict[str, Any] = {
    "log_std_init": -2.0,
    "ortho_init": False,
    "activation_fn": "relu",
    "net_arch": [256, 256],
}
_LSTM: dict[str, Any] = {
    "ortho_init": False,
    "activation_fn": "relu",
    "lstm_hidden_size": 64,
    "net_arch": [64],
}
_GSDE: dict[str, Any] = {"use_sde": True, "log_std_init": -2.0, "ortho_init": False}


def _scaled(steps: int, n_envs: int = 1, **values: Any) -> Preset:
    """Return a preset with normalized observations and rewards."""
    return Preset(total_timesteps=steps, n_envs=n_envs, hyperparameters=values, wrappers=_SCALED)


def _plain(steps: int, n_envs: int = 1, **values: Any) -> Preset:
    return Preset(total_timesteps=steps, n_envs=n_envs, hyperparameters=values)


_LANDER_PPO = _plain(
    1_000_000, 16, n_steps=1024, gae_lambda=0.98, gamma=0.999, n_epochs=4, ent_coef=0.01
)
_ACROBOT_PPO = _scaled(1_000_000, 16, n_steps=256, gae_lambda=0.94, n_epochs=4)
_RACER_PPO = Preset(
    total_timesteps=4_000_000,
    n_envs=8,
    hyperparameters={
        "batch_size": 128,
        "n_steps": 512,
        "sde_sample_freq": 4,
        "learning_rate": "1e-4 -> 0",
        "use_sde": True,
        "log_std_init": -2.0,
        "ortho_init": False,
        "activation_fn": "relu",
        "net_arch": [256],
    },
    wrappers={"frame_skip": 2, "frame_stack": 2, "normalize_reward": True},
    note=f"{_WHOLE_FRAMES} {_GELU}",
)


def _minigrid(steps: int, n_steps: int) -> Preset:
    return Preset(
        total_timesteps=steps,
        n_envs=8,
        hyperparameters={"n_steps": n_steps, "learning_rate": 2.5e-4},
        wrappers=_SCALED,
        note=_NO_MISSION,
    )


_MUJOCO_PPO = {
    "HalfCheetah-v5": _scaled(
        1_000_000,
        n_steps=512,
        gamma=0.98,
        learning_rate=2.0633e-05,
        ent_coef=0.000401762,
        clip_range=0.1,
        n_epochs=20,
        gae_lambda=0.92,
        max_grad_norm=0.8,
        vf_coef=0.58096,
        **_MUJOCO_NETWORK,
    ),
    "Hopper-v5": _scaled(
        1_000_000,
        batch_size=32,
        n_steps=512,
        gamma=0.999,
        learning_rate=9.80828e-05,
        ent_coef=0.00229519,
        n_epochs=5,
        gae_lambda=0.99,
        max_grad_norm=0.7,
        vf_coef=0.835671,
        **_MUJOCO_NETWORK,
    ),
    "Humanoid-v5": _scaled(
        10_000_000,
        batch_size=256,
        n_steps=512,
        gamma=0.95,
        learning_rate=3.56987e-05,
        ent_coef=0.00238306,
        clip_range=0.3,
        n_epochs=5,
        gae_lambda=0.9,
        max_grad_norm=2.0,
        vf_coef=0.431892,
        **_MUJOCO_NETWORK,
    ),
    "InvertedDoublePendulum-v5": _scaled(
        1_000_000,
        batch_size=128,
        n_steps=128,
        gamma=0.98,
        learning_rate=0.000155454,
        ent_coef=1.05057e-06,
        clip_range=0.4,
        gae_lambda=0.8,
        vf_coef=0.695929,
    ),
    "InvertedPendulum-v5": _scaled(
        1_000_000,
        n_steps=32,
        batch_size=32,
        gamma=0.999,
        learning_rate=0.000222425,
        ent_coef=1.37976e-07,
        clip_range=0.4,
        n_epochs=5,
        gae_lambda=0.9,
        max_grad_norm=0.3,
        vf_coef=0.19816,
    ),
    "Walker2d-v5": _scaled(
        1_000_000,
        batch_size=32,
        n_steps=512,
        learning_rate=5.05041e-05,
        ent_coef=0.000585045,
        clip_range=0.1,
        n_epochs=20,
        max_grad_norm=1.0,
        vf_coef=0.871923,
    ),
    "Swimmer-v5": _scaled(
        1_000_000,
        4,
        gamma=0.9999,
        n_steps=1024,
        batch_size=256,
        learning_rate=6e-4,
        gae_lambda=0.98,
    ),
}

PPO = {
    "Pendulum-v1": _plain(
        100_000, 4, n_steps=1024, gamma=0.9, learning_rate=1e-3, use_sde=True, sde_sample_freq=4
    ),
    "CartPole-v1": _plain(
        100_000,
        8,
        n_steps=32,
        batch_size=256,
        gae_lambda=0.8,
        gamma=0.98,
        n_epochs=20,
        learning_rate="1e-3 -> 0",
        clip_range="0.2 -> 0",
    ),
    "MountainCar-v0": _scaled(1_000_000, 16, n_steps=16, gae_lambda=0.98, n_epochs=4),
    "MountainCarContinuous-v0": _scaled(
        20_000,
        n_steps=8,
        batch_size=8,
        gamma=0.9999,
        learning_rate=7.77e-05,
        ent_coef=0.00429,
        clip_range=0.1,
        gae_lambda=0.9,
        max_grad_norm=5.0,
        vf_coef=0.19,
        use_sde=True,
        log_std_init=-3.29,
        ortho_init=False,
    ),
    "Acrobot-v1": _ACROBOT_PPO,
    "BipedalWalker-v3": _scaled(5_000_000, 32, gamma=0.999, clip_range=0.18),
    "BipedalWalkerHardcore-v3": _scaled(
        100_000_000, 16, ent_coef=0.001, learning_rate="2.5e-4 -> 0", clip_range="0.2 -> 0"
    ),
    "LunarLander-v3": _LANDER_PPO,
    "LunarLanderContinuous-v3": _LANDER_PPO,
    "CarRacing-v3": _RACER_PPO,
    "MiniGrid-DoorKey-5x5-v0": _minigrid(100_000, 128),
    "MiniGrid-FourRooms-v0": _minigrid(5_000_000, 512),
    "Ant-v5": _scaled(1_000_000),
    **_MUJOCO_PPO,
}

RECURRENT_PPO = {
    "Acrobot-v1": _ACROBOT_PPO,
    "BipedalWalker-v3": _scaled(
        5_000_000, 32, n_steps=256, batch_size=256, gamma=0.999, clip_range=0.18, **_LSTM
    ),
    "BipedalWalkerHardcore-v3": _scaled(
        100_000_000,
        32,
        n_steps=256,
        batch_size=256,
        gamma=0.999,
        ent_coef=0.001,
        learning_rate="3e-4 -> 0",
        clip_range="0.2 -> 0",
        **_LSTM,
    ),
    "Ant-v5": _scaled(1_000_000),
    **_MUJOCO_PPO,
}

A2C = {
    "CartPole-v1": _plain(500_000, 8),
    "LunarLander-v3": _plain(200_000, 8, gamma=0.995, learning_rate="8.3e-4 -> 0", ent_coef=1e-5),
    "MountainCar-v0": _scaled(1_000_000, 16),
    "Acrobot-v1": _scaled(500_000, 16),
    "Pendulum-v1": _scaled(
        1_000_000,
        8,
        n_steps=8,
        gae_lambda=0.9,
        vf_coef=0.4,
        gamma=0.9,
        learning_rate="7e-4 -> 0",
        **_GSDE,
    ),
    "LunarLanderContinuous-v3": _scaled(
        5_000_000, 4, n_steps=8, gae_lambda=0.9, vf_coef=0.4, learning_rate="7e-4 -> 0", **_GSDE
    ),
    "MountainCarContinuous-v0": _scaled(
        100_000, 4, n_steps=100, use_sde=True, sde_sample_freq=16, ortho_init=False
    ),
    "BipedalWalker-v3": _scaled(
        5_000_000, 16, n_steps=8, gae_lambda=0.9, vf_coef=0.4, learning_rate="9.6e-4 -> 0", **_GSDE
    ),
    "BipedalWalkerHardcore-v3": _scaled(
        200_000_000,
        32,
        ent_coef=0.001,
        n_steps=8,
        gae_lambda=0.9,
        vf_coef=0.4,
        learning_rate="8e-4 -> 0",
        **_GSDE,
    ),
    **{
        env_id: _scaled(1_000_000)
        for env_id in ("HalfCheetah-v5", "Ant-v5", "Hopper-v5", "Walker2d-v5")
    },
    "Humanoid-v5": _scaled(2_000_000),
    "Swimmer-v5": _scaled(1_000_000, gamma=0.9999),
}


def _trpo_mujoco(steps: int, **values: Any) -> Preset:
    return _scaled(steps, 2, n_steps=1024, cg_max_steps=25, n_critic_updates=20, **values)


TRPO = {
    "CartPole-v1": _plain(
        100_000,
        2,
        n_steps=512,
        batch_size=512,
        cg_damping=1e-3,
        gae_lambda=0.98,
        n_critic_updates=20,
    ),
    "Pendulum-v1": _plain(
        100_000, 2, n_steps=1024, gamma=0.9, n_critic_updates=15, use_sde=True, sde_sample_freq=4
    ),
    "LunarLander-v3": _plain(
        200_000, 2, n_steps=512, cg_damping=0.01, gae_lambda=0.98, n_critic_updates=15
    ),
    "LunarLanderContinuous-v3": _scaled(100_000, 2, n_steps=1024, n_critic_updates=20),
    "Acrobot-v1": _scaled(100_000, 2, n_steps=1024),
    "MountainCar-v0": _scaled(100_000, 2, n_steps=1024, n_critic_updates=20),
    "MountainCarContinuous-v0": _scaled(50_000, 2, use_sde=True, sde_sample_freq=4),
    "BipedalWalker-v3": _trpo_mujoco(1_000_000),
    "BipedalWalkerHardcore-v3": _trpo_mujoco(10_000_000),
    **{env_id: _trpo_mujoco(1_000_000) for env_id in ("Ant-v5", "Hopper-v5", "Walker2d-v5")},
    "HalfCheetah-v5": _trpo_mujoco(1_000_000, target_kl=0.04),
    "Humanoid-v5": _trpo_mujoco(2_000_000),
    "Swimmer-v5": _trpo_mujoco(1_000_000, gamma=0.9999),
}


def _search(steps: int, **values: Any) -> Preset:
    """Return a preset of ARS with normalized observations."""
    return Preset(
        total_timesteps=steps, n_envs=1, hyperparameters=values, wrappers=_SCALED_OBSERVATION
    )


_SMALL_SEARCH: dict[str, Any] = {
    "learning_rate": 0.018,
    "n_delta": 4,
    "n_top": 1,
    "delta_std": 0.1,
    "linear": False,
    "net_arch": [16],
    "zero_policy": False,
}
_WALKER_SEARCH: dict[str, Any] = {
    "learning_rate": 0.02,
    "delta_std": 0.0075,
    "n_delta": 64,
    "n_top": 32,
    "alive_bonus_offset": -0.1,
    "linear": False,
    "net_arch": [16],
}

ARS = {
    "CartPole-v1": _plain(50_000, n_delta=2),
    "Pendulum-v1": _search(2_000_000, **_SMALL_SEARCH),
    "LunarLander-v3": _search(2_000_000, **{**_SMALL_SEARCH, "n_delta": 6}),
    "LunarLanderContinuous-v3": _search(2_000_000, **_SMALL_SEARCH),
    "Acrobot-v1": _search(500_000, **_SMALL_SEARCH),
    "MountainCar-v0": _search(500_000, **{**_SMALL_SEARCH, "n_delta": 8}),
    "MountainCarContinuous-v0": _search(500_000, **{**_SMALL_SEARCH, "delta_std": 0.2}),
    "BipedalWalker-v3": _search(100_000_000, **_WALKER_SEARCH),
    "BipedalWalkerHardcore-v3": _search(500_000_000, **_WALKER_SEARCH),
    "Swimmer-v5": _plain(2_000_000, learning_rate=0.02, delta_std=0.01, n_delta=1, n_top=1),
    "Hopper-v5": _search(
        7_000_000, learning_rate=0.01, delta_std=0.025, n_top=4, alive_bonus_offset=-1.0
    ),
    "HalfCheetah-v5": _search(12_500_000, delta_std=0.03, n_delta=32, n_top=4),
    "Walker2d-v5": _search(
        75_000_000,
        learning_rate=0.03,
        delta_std=0.025,
        n_delta=40,
        n_top=30,
        alive_bonus_offset=-1.0,
    ),
    "Ant-v5": _search(
        75_000_000,
        learning_rate=0.015,
        delta_std=0.025,
        n_delta=60,
        n_top=20,
        alive_bonus_offset=-1.0,
    ),
    "Humanoid-v5": _search(
        250_000_000, delta_std=0.0075, n_delta=256, n_top=256, alive_bonus_offset=-5.0
    ),
}
