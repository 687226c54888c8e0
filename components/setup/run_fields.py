"""The settings of a run that belong to no algorithm and no environment."""

from app.core.parameters import Parameter

_NAMED = {
    "total_timesteps": "Total timesteps",
    "n_envs": "Parallel envs",
    "seed": "Seed",
    "seeds": "Repeats",
    "name": "Name",
    "init_from": "Begin from run",
    "evaluate_every": "Evaluate every (steps)",
    "stop_when_solved": "Stop when solved",
}
"""What is asked for, and what it is called on screen."""

_DESCRIPTIONS = {
    "total_timesteps": "How many steps of the environment the whole training has.",
    "n_envs": "How many copies of the environment play at once.",
    "seed": "The same seed gives the same run. Empty: a random one.",
    "seeds": "How many runs, each with a seed of its own.",
    "name": "What the run is called in lists. Empty: algorithm and environment.",
    "init_from": "Begin with the policy of another run: its id, id@best or id@step.",
    "evaluate_every": "Judge the policy beside the training after so many steps. Empty: never.",
    "stop_when_solved": "End when three evaluations in a row reach the solved score.",
}
PLACEHOLDERS = {"seed": "random", "init_from": "id, id@best or id@step", "evaluate_every": "never"}
_OPTIONAL = frozenset({"seed", "evaluate_every"})
_TEXTS = frozenset({"name", "init_from"})
_LONGEST = 200


def run_field(name: str) -> tuple[Parameter, str]:
    """Return a setting and its label; `RunRequest` has the bounds."""
    label, about = _NAMED[name], _DESCRIPTIONS[name]
    if name == "stop_when_solved":
        return Parameter(name=name, type="bool", default=False, description=about), label
    is_text = name in _TEXTS
    return (
        Parameter(
            name=label.replace(" ", "_"),
            type="text" if is_text else "int",
            default=None if name in _OPTIONAL else "",
            nullable=name in _OPTIONAL,
            max=_LONGEST if is_text else None,
            description=about,
        ),
        label,
    )
