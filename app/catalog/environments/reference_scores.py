"""Random and reference scores, by which scores of several environments are normalized."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType

from app.catalog.environments.atari_scores import ATARI_SCORES
from app.catalog.environments.catalogue import ENVIRONMENTS
from app.catalog.environments.options import OptionValue
from app.protocol import NO_FRAMESKIP

_ZOO = "the best of RL Baselines3 Zoo's published scores"
_THRESHOLD = "the solved threshold"


@dataclass(frozen=True, slots=True)
class ReferenceScore:
    """The scores that count as 0 and as 1 in an environment."""

    random: float
    """Mean return of random actions."""
    reference: float
    source: str
    """What the reference is."""
    options: Mapping[str, OptionValue] = field(default_factory=dict)
    """Options of the environment with which it was measured; the others had their defaults."""

    def normalize(self, score: float) -> float:
        """Return a score on a scale on which random actions have 0 and the reference 1."""
        return (score - self.random) / (self.reference - self.random)


_RANDOM: Mapping[str, float] = {
    "CartPole-v1": 22.2,
    "Acrobot-v1": -499.1,
    "MountainCar-v0": -200.0,
    "MountainCarContinuous-v0": -33.33,
    "Pendulum-v1": -1231.0,
    "LunarLander-v3": -181.7,
    "LunarLanderContinuous-v3": -209.8,
    "BipedalWalker-v3": -99.85,
    "BipedalWalkerHardcore-v3": -107.7,
    "CarRacing-v3": -32.53,
    "GridWorld-v0": -1.485,
    "FrozenLake-v1": 0.012,
    "FrozenLake8x8-v1": 0.001,
    "Taxi-v4": -776.0,
}
"""Measured by `make bench only=random_scores` with 1,000 episodes, of CarRacing 20. Without
CliffWalking, which has no time limit: random actions score -70,000, and all else about 1."""

_PUBLISHED: Mapping[str, tuple[float, str]] = {
    "Pendulum-v1": (-151.855, f"{_ZOO} (TD3)"),
}
"""References of environments without a solved threshold."""


def reference_score(env_id: str) -> ReferenceScore | None:
    """Return the random and the reference score of an environment, if both are known."""
    return reference_scores().get(env_id) or _of_game(env_id)


def reference_scores() -> Mapping[str, ReferenceScore]:
    """Return the references of environments other than games, whose random scores were measured."""
    found = {env_id: _of(env_id, random) for env_id, random in _RANDOM.items()}
    return MappingProxyType(found)


def _of_game(env_id: str) -> ReferenceScore | None:
    game = env_id.removeprefix("ALE/").removesuffix("-v5")
    scores = ATARI_SCORES.get(game)
    if scores is None or env_id != f"ALE/{game}-v5":
        return None
    return ReferenceScore(*scores, "human play", {"protocol": NO_FRAMESKIP})


def _of(env_id: str, random: float) -> ReferenceScore:
    threshold = ENVIRONMENTS[env_id].solved_threshold
    if threshold is not None:
        return ReferenceScore(random, threshold, _THRESHOLD)
    return ReferenceScore(random, *_PUBLISHED[env_id])
