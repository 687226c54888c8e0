"""Templates for every environment."""

from collections.abc import Iterator

from app.authoring.rewards.templates.template import Template, stateful_template, template
from app.catalog.environments import ActionKind, EnvSpec

DEFAULT = template(
    "default",
    "Default",
    "The environment's own reward, unchanged.",
    "return reward",
)
_SPARSE = stateful_template(
    "sparse",
    "Sparse",
    "The whole return at the end of the episode, 0 before.",
    "self.total = 0.0",
    "self.total += reward\nreturn self.total if terminated or truncated else 0.0",
)
_EFFORT = template(
    "effort",
    "Less effort",
    "The environment's own reward minus the cost of the actions.",
    "effort = float(np.square(action).sum())\n"
    'return {"environment": reward, "effort": -0.01 * effort}',
    before="import numpy as np\n\n\n",
)
_CALM = stateful_template(
    "calm",
    "Smooth actions",
    "The environment's own reward minus a small cost for each change of action.",
    "self.last = None",
    "is_other = self.last is not None and action != self.last\nself.last = action\n"
    'return {"environment": reward, "changes": -0.01 * is_other}',
)


def common_templates(spec: EnvSpec) -> Iterator[Template]:
    """Yield the templates that suit the actions and rewards of an environment."""
    yield DEFAULT
    if spec.max_episode_steps and _can_be_too_long(spec):
        yield _short_episodes(spec, spec.max_episode_steps)
    if spec.action_kind is ActionKind.CONTINUOUS:
        yield _EFFORT
    if spec.action_kind is ActionKind.DISCRETE:
        yield _CALM
    if spec.max_episode_steps:
        # Without a time limit it might never be paid.
        yield _SPARSE


def _can_be_too_long(spec: EnvSpec) -> bool:
    """Whether long episodes are neither the goal nor already penalized."""
    least, most = spec.reward_range
    is_the_aim = least is not None and least > 0
    costs_already = most is not None and most <= 0
    return not is_the_aim and not costs_already and spec.family != "bandits"


def _short_episodes(spec: EnvSpec, limit: int) -> Template:
    """Return a template with time costs of at most a fifth of the largest reward per episode."""
    largest = max((abs(bound) for bound in spec.reward_range if bound is not None), default=1.0)
    cost = float(f"{0.2 * largest / limit:.1g}")
    return template(
        "short_episodes",
        "Penalize long episodes",
        "The environment's own reward minus a small cost per step.",
        f'return {{"environment": reward, "time": -{cost}}}',
    )
