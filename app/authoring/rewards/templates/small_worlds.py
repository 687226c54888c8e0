"""Templates for grid worlds."""

from app.authoring.rewards.templates.template import Template, potential, template

_GRID = (
    potential(
        "Closer to the bottom right earns more: the goal is there unless a map is given.",
        "return 0.2 * float(obs.row + obs.column)",
    ),
)


def _lake(width: int) -> tuple[Template, ...]:
    return (
        template(
            "holes",
            "Penalize holes",
            "1 for the present, -1 for a hole.",
            "fell = terminated and reward == 0\n"
            'return {"present": reward, "hole": -1.0 if fell else 0.0}',
        ),
        potential(
            "Closer to the bottom right earns more, without changing the optimal policy.",
            f"row, column = divmod(int(obs), {width})\n"
            f"return 0.5 * (row + column) / {2 * (width - 1)}",
        ),
    )


_CLIFF = (
    template(
        "cliff",
        "Cheaper falls",
        "A fall costs ten steps instead of a hundred, so that the agent explores the edge.",
        'return {"steps": -1.0, "falls": -9.0 if reward < -1 else 0.0}',
    ),
)

BY_ENVIRONMENT: dict[str, tuple[Template, ...]] = {
    "GridWorld-v0": _GRID,
    "FrozenLake-v1": _lake(4),
    "FrozenLake8x8-v1": _lake(8),
    "CliffWalking-v1": _CLIFF,
}
