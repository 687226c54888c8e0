"""The settings of a run that depend on neither the algorithm nor the environment."""

from app.core import Parameter

_LABELS = {
    "total_timesteps": "Total timesteps",
    "n_envs": "Parallel envs",
    "seed": "Seed",
    "seeds": "Number of seeds",
    "name": "Name",
    "init_from": "Start from run",
    "evaluate_every": "Evaluate every (steps)",
    "stop_when_solved": "Stop when solved",
}
"""The label of each field."""

_DESCRIPTIONS = {
    "total_timesteps": "Number of environment steps to train for.",
    "n_envs": "Number of environments stepped in parallel.",
    "seed": "The same seed gives the same run. Empty: a random seed.",
    "seeds": "Number of runs; their seeds are drawn from the seed, so that no two share an "
    "environment.",
    "name": "Name of the run in lists. Empty: algorithm and environment.",
    "init_from": "Start with the policy of another run: its id, id@best or id@step. Exploration "
    "(learning_starts, exploration_initial_eps) begins anew unless it is lowered.",
    "evaluate_every": "Evaluate the policy during training, every so many steps. Empty: never.",
    "stop_when_solved": "Stop when three consecutive evaluations reach the solved threshold and "
    "100 episodes on other seeds confirm it.",
}
PLACEHOLDERS = {"seed": "random", "init_from": "id, id@best or id@step", "evaluate_every": "never"}
_OPTIONAL = frozenset({"seed", "evaluate_every"})
_TEXTS = frozenset({"name", "init_from"})
_MAX_LENGTH = 200


def run_field(name: str) -> tuple[Parameter, str]:
    """Return a setting and its label; `RunRequest` checks the bounds."""
    label, about = _LABELS[name], _DESCRIPTIONS[name]
    if name == "stop_when_solved":
        return Parameter(name=name, type="bool", default=False, description=about), label
    is_text = name in _TEXTS
    return (
        Parameter(
            name=label.replace(" ", "_"),
            type="text" if is_text else "int",
            default=None if name in _OPTIONAL else "",
            nullable=name in _OPTIONAL,
            max=_MAX_LENGTH if is_text else None,
            description=about,
        ),
        label,
    )
