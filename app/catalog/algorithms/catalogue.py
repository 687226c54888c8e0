"""The available algorithms."""

from app.catalog.algorithms.a2c import A2C
from app.catalog.algorithms.ars import ARS
from app.catalog.algorithms.continuous import CROSSQ, SAC, TD3, TQC
from app.catalog.algorithms.dqn import DQN, QRDQN
from app.catalog.algorithms.ppo import MASKABLE_PPO, PPO, RECURRENT_PPO
from app.catalog.algorithms.sb3_defaults import with_sb3_defaults
from app.catalog.algorithms.spec import AlgorithmSpec
from app.catalog.algorithms.trpo import TRPO
from app.core import UnknownAlgorithmError

ALGORITHMS: dict[str, AlgorithmSpec] = {
    spec.id: with_sb3_defaults(spec)
    for spec in (
        *(PPO, A2C, DQN, SAC, TD3, QRDQN, TQC, TRPO),
        *(RECURRENT_PPO, MASKABLE_PPO, ARS, CROSSQ),
    )
}

DEFAULT_ALGORITHM = ALGORITHMS[PPO.id]
"""The default in every environment: it supports all kinds of actions."""

_BY_PLAIN_NAME = {spec.id.lower(): spec for spec in ALGORITHMS.values()}


def get_algorithm(name: str) -> AlgorithmSpec:
    """Return one algorithm, ignoring case and separators of its id: `PPO`, `ppo`, `qr-dqn`.

    Raises:
        UnknownAlgorithmError: if no algorithm has this name.
    """
    spec = _BY_PLAIN_NAME.get(name.lower().replace("-", "").replace("_", ""))
    if spec is None:
        raise UnknownAlgorithmError(name, ALGORITHMS)
    return spec
