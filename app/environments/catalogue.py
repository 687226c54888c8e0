"""The environments on offer."""

from app.environments.box2d import (
    BIPEDAL_WALKER,
    BIPEDAL_WALKER_HARDCORE,
    LUNAR_LANDER,
    LUNAR_LANDER_CONTINUOUS,
)
from app.environments.classic_control import (
    ACROBOT,
    CARTPOLE,
    MOUNTAIN_CAR,
    MOUNTAIN_CAR_CONTINUOUS,
    PENDULUM,
)
from app.environments.spec import EnvSpec
from app.errors import UnknownEnvironmentError

_OFFERED = (
    CARTPOLE,
    LUNAR_LANDER,
    BIPEDAL_WALKER,
    ACROBOT,
    MOUNTAIN_CAR,
    PENDULUM,
    MOUNTAIN_CAR_CONTINUOUS,
    LUNAR_LANDER_CONTINUOUS,
    BIPEDAL_WALKER_HARDCORE,
)

CATALOGUE: dict[str, EnvSpec] = {spec.id: spec for spec in _OFFERED}

_FORMER_IDS = {former: spec for spec in CATALOGUE.values() for former in spec.former_ids}


def get_environment(env_id: str) -> EnvSpec:
    """Return one environment; a former id answers with its successor.

    Raises:
        UnknownEnvironmentError: if the id is not in the catalogue.
    """
    spec = CATALOGUE.get(env_id) or _FORMER_IDS.get(env_id)
    if spec is None:
        raise UnknownEnvironmentError(env_id, CATALOGUE)
    return spec
