"""The scores that RL Zoo publishes in its benchmark.md, each of one run."""

from app.catalog.presets.spec import Published

_FORMER_IDS = {
    "LunarLander-v3": "LunarLander-v2",
    "LunarLanderContinuous-v3": "LunarLanderContinuous-v2",
    **{
        f"{name}-v5": f"{name}-v3"
        for name in ("Ant", "HalfCheetah", "Hopper", "Humanoid", "Swimmer", "Walker2d")
    },
}
"""The versions that the Zoo's scores are of, where the lab has a later one."""

_SCORES = {
    "A2C": {
        "Acrobot-v1": (-83.4, 500_000),
        "BipedalWalker-v3": (299.8, 5_000_000),
        "BipedalWalkerHardcore-v3": (96.2, 200_000_000),
        "CartPole-v1": (500.0, 500_000),
        "HalfCheetah-v5": (3041.2, 1_000_000),
        "Hopper-v5": (733.5, 1_000_000),
        "LunarLander-v3": (155.8, 200_000),
        "LunarLanderContinuous-v3": (84.2, 5_000_000),
        "MountainCar-v0": (-111.3, 1_000_000),
        "MountainCarContinuous-v0": (91.2, 100_000),
        "Pendulum-v1": (-163.0, 1_000_000),
        "Swimmer-v5": (200.6, 1_000_000),
    },
    "ARS": {
        "Acrobot-v1": (-82.9, 500_000),
        "Ant-v5": (2333.8, 75_000_000),
        "CartPole-v1": (500.0, 50_000),
        "HalfCheetah-v5": (4815.2, 12_000_000),
        "Hopper-v5": (3343.9, 7_000_000),
        "LunarLanderContinuous-v3": (168.0, 2_000_000),
        "MountainCar-v0": (-122.0, 500_000),
        "MountainCarContinuous-v0": (96.7, 500_000),
        "Pendulum-v1": (-212.5, 2_000_000),
        "Swimmer-v5": (355.3, 2_000_000),
        "Walker2d-v5": (2993.6, 75_000_000),
    },
    "DQN": {
        "Acrobot-v1": (-76.6, 100_000),
        "CartPole-v1": (500.0, 50_000),
        "LunarLander-v3": (154.4, 100_000),
        "MountainCar-v0": (-100.8, 120_000),
    },
    "PPO": {
        "Acrobot-v1": (-73.5, 1_000_000),
        "Ant-v5": (1327.2, 1_000_000),
        "BipedalWalker-v3": (213.3, 5_000_000),
        "BipedalWalkerHardcore-v3": (122.4, 100_000_000),
        "CartPole-v1": (500.0, 100_000),
        "HalfCheetah-v5": (5819.1, 1_000_000),
        "Hopper-v5": (2410.4, 1_000_000),
        "LunarLander-v3": (242.1, 1_000_000),
        "LunarLanderContinuous-v3": (270.9, 1_000_000),
        "MountainCar-v0": (-110.4, 1_000_000),
        "MountainCarContinuous-v0": (88.3, 20_000),
        "Pendulum-v1": (-172.2, 100_000),
        "Swimmer-v5": (281.6, 1_000_000),
        "Walker2d-v5": (3478.8, 1_000_000),
    },
    "QRDQN": {
        "Acrobot-v1": (-69.1, 100_000),
        "CartPole-v1": (500.0, 50_000),
        "LunarLander-v3": (70.2, 100_000),
        "MountainCar-v0": (-106.0, 120_000),
    },
    "SAC": {
        "Ant-v5": (4615.8, 1_000_000),
        "BipedalWalker-v3": (297.7, 500_000),
        "BipedalWalkerHardcore-v3": (4.4, 10_000_000),
        "HalfCheetah-v5": (9535.5, 1_000_000),
        "Hopper-v5": (2325.5, 1_000_000),
        "Humanoid-v5": (6232.3, 2_000_000),
        "LunarLanderContinuous-v3": (260.4, 500_000),
        "MountainCarContinuous-v0": (94.7, 50_000),
        "Pendulum-v1": (-157.0, 20_000),
        "Swimmer-v5": (345.6, 1_000_000),
        "Walker2d-v5": (3863.2, 1_000_000),
    },
    "TD3": {
        "Ant-v5": (5813.3, 1_000_000),
        "BipedalWalker-v3": (306.0, 1_000_000),
        "BipedalWalkerHardcore-v3": (-98.1, 10_000_000),
        "HalfCheetah-v5": (9655.7, 1_000_000),
        "Hopper-v5": (3606.4, 1_000_000),
        "Humanoid-v5": (5566.7, 2_000_000),
        "LunarLanderContinuous-v3": (207.5, 300_000),
        "MountainCarContinuous-v0": (93.5, 300_000),
        "Pendulum-v1": (-151.9, 20_000),
        "Swimmer-v5": (359.1, 1_000_000),
        "Walker2d-v5": (4717.8, 1_000_000),
    },
    "TQC": {
        "Ant-v5": (3339.4, 1_000_000),
        "BipedalWalker-v3": (329.8, 500_000),
        "BipedalWalkerHardcore-v3": (235.2, 2_000_000),
        "HalfCheetah-v5": (12089.9, 1_000_000),
        "Hopper-v5": (3754.2, 1_000_000),
        "Humanoid-v5": (7239.3, 2_000_000),
        "LunarLanderContinuous-v3": (278.0, 500_000),
        "MountainCarContinuous-v0": (63.6, 50_000),
        "Swimmer-v5": (339.4, 1_000_000),
        "Walker2d-v5": (4380.7, 1_000_000),
    },
    "TRPO": {
        "Acrobot-v1": (-83.1, 100_000),
        "Ant-v5": (4982.3, 1_000_000),
        "BipedalWalker-v3": (182.3, 1_000_000),
        "CartPole-v1": (500.0, 100_000),
        "HalfCheetah-v5": (1785.5, 1_000_000),
        "Hopper-v5": (3618.4, 1_000_000),
        "LunarLander-v3": (133.2, 200_000),
        "LunarLanderContinuous-v3": (262.4, 200_000),
        "MountainCar-v0": (-107.3, 100_000),
        "MountainCarContinuous-v0": (92.5, 50_000),
        "Pendulum-v1": (-174.6, 100_000),
        "Swimmer-v5": (365.7, 1_000_000),
        "Walker2d-v5": (4933.1, 1_000_000),
    },
}

_ATARI_STEPS = 10_000_000
_ATARI_SCORES = {
    "A2C": {
        "Breakout": 279.8,
        "Pong": 17.3,
        "Qbert": 3882.3,
        "Seaquest": 1721.5,
        "SpaceInvaders": 627.2,
    },
    "DQN": {
        "Breakout": 358.3,
        "Pong": 20.6,
        "Qbert": 9496.8,
        "Seaquest": 2000.3,
        "SpaceInvaders": 622.7,
    },
    "PPO": {
        "Breakout": 398.0,
        "Pong": 21.0,
        "Qbert": 15627.1,
        "Seaquest": 1783.6,
        "SpaceInvaders": 960.3,
    },
    "QRDQN": {
        "Breakout": 393.6,
        "Pong": 20.5,
        "Qbert": 14799.7,
        "Seaquest": 2557.6,
        "SpaceInvaders": 1899.9,
    },
}
"""By game, all under the protocol NoFrameskip-v4."""


def published(env_id: str, algorithm: str) -> Published | None:
    """Return the score that RL Zoo publishes for an environment and an algorithm, if any."""
    found = _SCORES.get(algorithm, {}).get(env_id)
    if found is not None:
        score, steps = found
        return Published(score=score, timesteps=steps, env_id=_FORMER_IDS.get(env_id, env_id))
    game = env_id.removeprefix("ALE/").removesuffix("-v5")
    score_of_game = _ATARI_SCORES.get(algorithm, {}).get(game)
    if score_of_game is None or not env_id.startswith("ALE/"):
        return None
    zoo_id = f"{game}NoFrameskip-v4"
    return Published(score=score_of_game, timesteps=_ATARI_STEPS, env_id=zoo_id)
