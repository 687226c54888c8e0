"""The templates of each environment."""

from app.environments.spec import EnvSpec
from app.rewards.templates import box2d, classic_control, small_worlds
from app.rewards.templates.common import common_templates
from app.rewards.templates.template import Template

_OF_ONE: dict[str, tuple[Template, ...]] = {
    **classic_control.BY_ENVIRONMENT,
    **box2d.BY_ENVIRONMENT,
    **small_worlds.BY_ENVIRONMENT,
}


def templates_for(spec: EnvSpec) -> list[Template]:
    """Return the rewards to begin with in an environment; the first is its own, unchanged."""
    first, *others = common_templates(spec)
    return [first, *_OF_ONE.get(spec.id, ()), *others]
