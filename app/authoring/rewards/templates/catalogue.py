"""The templates of each environment."""

from app.authoring.rewards.templates import box2d, classic_control, small_worlds
from app.authoring.rewards.templates.common import common_templates
from app.authoring.rewards.templates.template import Template
from app.catalog.environments import EnvSpec

_BY_ENVIRONMENT: dict[str, tuple[Template, ...]] = {
    **classic_control.BY_ENVIRONMENT,
    **box2d.BY_ENVIRONMENT,
    **small_worlds.BY_ENVIRONMENT,
}


def templates_for(spec: EnvSpec) -> list[Template]:
    """Return the templates of an environment; the first is its own reward, unchanged."""
    first, *others = common_templates(spec)
    return [first, *_BY_ENVIRONMENT.get(spec.id, ()), *others]
