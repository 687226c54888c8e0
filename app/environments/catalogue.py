"""The environments on offer."""

from app.environments.box2d import BIPEDAL_WALKER, LUNAR_LANDER
from app.environments.classic_control import CARTPOLE
from app.environments.spec import EnvSpec
from app.errors import UnknownEnvironmentError

CATALOGUE: dict[str, EnvSpec] = {spec.id: spec for spec in (CARTPOLE, LUNAR_LANDER, BIPEDAL_WALKER)}

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
