"""Templates for every environment."""

from collections.abc import Iterator

from app.authoring.rewards.templates.template import Template, remembering, template
from app.catalog.environments.spec import ActionKind, EnvSpec

DEFAULT = template(
    "default",
    "Default",
    "The environment's own reward, unchanged.",
    "return reward",
)
_SPARSE = remembering(
    "sparse",
    "Sparse",
    "Nothing until the episode is over, then all at once.",
    "self.total = 0.0",
    "self.total += reward\nreturn self.total if terminated or truncated else 0.0",
)
_EFFORT = template(
    "effort",
    "Less effort",
    "The environment's own reward, less what the motors take.",
    "effort = float(np.square(action).sum())\n"
    'return {"environment": reward, "effort": -0.01 * effort}',
    before="import numpy as np\n\n\n",
)
_CALM = remembering(
    "calm",
    "Calm hands",
    "The environment's own reward, less a little whenever the action changes.",
    "self.last = None",
    "is_other = self.last is not None and action != self.last\nself.last = action\n"
    'return {"environment": reward, "changes": -0.01 * is_other}',
)


def common_templates(spec: EnvSpec) -> Iterator[Template]:
    """Yield those that fit an environment's actions."""
    yield DEFAULT
    if spec.max_episode_steps and _can_take_longer(spec):
        yield _in_a_hurry(spec, spec.max_episode_steps)
    if spec.action_kind is ActionKind.CONTINUOUS:
        yield _EFFORT
    if spec.action_kind is ActionKind.DISCRETE:
        yield _CALM
    if spec.max_episode_steps:
        # Without an end it would never be paid.
        yield _SPARSE


def _can_take_longer(spec: EnvSpec) -> bool:
    """Whether slow episodes are neither the aim nor paid less already."""
    least, most = spec.reward_range
    is_the_aim = least is not None and least > 0
    costs_already = most is not None and most <= 0
    return not is_the_aim and not costs_already and spec.family != "bandits"


def _in_a_hurry(spec: EnvSpec, limit: int) -> Template:
    """Take a fifth of the largest reward, at most, for all of an episode's time."""
    largest = max((abs(bound) for bound in spec.reward_range if bound is not None), default=1.0)
    cost = float(f"{0.2 * largest / limit:.1g}")
    return template(
        "short_episodes",
        "Penalise long episodes",
        "The environment's own reward, less a little for every step.",
        f'return {{"environment": reward, "time": -{cost}}}',
    )
