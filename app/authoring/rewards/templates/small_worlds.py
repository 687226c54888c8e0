"""Templates for worlds of cells."""

from app.authoring.rewards.templates.template import Template, potential, template

_GRID = (
    potential(
        "Nearer to the bottom right, where the goal is unless a map says otherwise.",
        "return 0.2 * float(obs.row + obs.column)",
    ),
)


def _lake(width: int) -> tuple[Template, ...]:
    return (
        template(
            "holes",
            "Holes hurt",
            "One for the present, minus one for a hole.",
            "fell = terminated and reward == 0\n"
            'return {"present": reward, "hole": -1.0 if fell else 0.0}',
        ),
        potential(
            "Nearer to the bottom right is worth more, without changing what is best.",
            f"row, column = divmod(int(obs), {width})\n"
            f"return 0.5 * (row + column) / {2 * (width - 1)}",
        ),
    )


_CLIFF = (
    template(
        "cliff",
        "A cliff that ends nothing",
        "A fall costs ten steps instead of a hundred, so that the edge is tried.",
        'return {"steps": -1.0, "falls": -9.0 if reward < -1 else 0.0}',
    ),
)

BY_ENVIRONMENT: dict[str, tuple[Template, ...]] = {
    "GridWorld-v0": _GRID,
    "FrozenLake-v1": _lake(4),
    "FrozenLake8x8-v1": _lake(8),
    "CliffWalking-v1": _CLIFF,
}
