"""The algorithms on offer."""

from app.catalog.algorithms.a2c import A2C
from app.catalog.algorithms.ars import ARS
from app.catalog.algorithms.continuous import CROSSQ, SAC, TD3, TQC
from app.catalog.algorithms.dqn import DQN, QRDQN
from app.catalog.algorithms.ppo import MASKABLE_PPO, PPO, RECURRENT_PPO
from app.catalog.algorithms.spec import AlgorithmSpec
from app.catalog.algorithms.trpo import TRPO
from app.core.errors import UnknownAlgorithmError

CATALOGUE: dict[str, AlgorithmSpec] = {
    spec.id: spec
    for spec in (
        *(PPO, A2C, DQN, SAC, TD3, QRDQN, TQC, TRPO),
        *(RECURRENT_PPO, MASKABLE_PPO, ARS, CROSSQ),
    )
}

_BY_PLAIN_NAME = {spec.id.lower(): spec for spec in CATALOGUE.values()}


def get_algorithm(name: str) -> AlgorithmSpec:
    """Return one algorithm, however its id is written: `PPO`, `ppo`, `qr-dqn`.

    Raises:
        UnknownAlgorithmError: if there is none of this name.
    """
    spec = _BY_PLAIN_NAME.get(name.lower().replace("-", "").replace("_", ""))
    if spec is None:
        raise UnknownAlgorithmError(name, CATALOGUE)
    return spec
