"""The presets of RL Zoo (rl-baselines3-zoo, `hyperparams/*.yml`) with their published scores.

Environments that the lab has in a later version have the values of the Zoo's version. Pairs
that need wrappers which the lab doesn't have, such as an autoencoder, are left out.
"""

from collections.abc import Mapping
from dataclasses import replace

from app.catalog.algorithms import AlgorithmSpec
from app.catalog.environments import EnvSpec
from app.catalog.presets import rl_zoo_off_policy as off_policy
from app.catalog.presets import rl_zoo_on_policy as on_policy
from app.catalog.presets.atari import ATARI_ZOO
from app.catalog.presets.rl_zoo_scores import published
from app.catalog.presets.spec import Preset

RL_ZOO: Mapping[str, Mapping[str, Preset]] = {
    "PPO": on_policy.PPO,
    "A2C": on_policy.A2C,
    "TRPO": on_policy.TRPO,
    "RecurrentPPO": on_policy.RECURRENT_PPO,
    "ARS": on_policy.ARS,
    "DQN": off_policy.DQN,
    "QRDQN": off_policy.QRDQN,
    "SAC": off_policy.SAC,
    "TD3": off_policy.TD3,
    "TQC": off_policy.TQC,
    "CrossQ": off_policy.CROSSQ,
}
"""The Zoo's values by algorithm and environment; what they omit has SB3's default."""


def zoo_preset(environment: EnvSpec, algorithm: AlgorithmSpec) -> Preset | None:
    """Return what RL Zoo sets for an environment and an algorithm, if it has them."""
    of_games = ATARI_ZOO.get(algorithm.id) if environment.family == "atari" else None
    found = RL_ZOO.get(algorithm.id, {}).get(environment.id, of_games)
    return (
        None if found is None else replace(found, published=published(environment.id, algorithm.id))
    )
