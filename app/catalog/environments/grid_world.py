"""GridWorld, the lab's own example environment, implemented in app/worker/envs/grid_world.py."""

from collections.abc import Mapping
from typing import Any

from app.catalog.environments.options import EnvOption
from app.catalog.environments.spec import ActionKind, EnvSpec, Observed
from app.protocol import MAX_MAP_SIDE, GridMap, read_map, two_rooms

_OPTIONS = (
    EnvOption(
        name="size",
        type="int",
        default=7,
        min=3,
        max=MAX_MAP_SIDE,
        description="Number of rows and columns, unless a map is given.",
    ),
    EnvOption(
        name="map",
        type="text",
        default=None,
        nullable=True,
        max=500,
        reader=read_map,
        description="Walls, goals and traps, row by row: S..#/.#.T/...G has a start S, walls #, a "
        "trap T and a goal G. A digit is a goal of that reward.",
    ),
    EnvOption(
        name="slip",
        type="float",
        default=0.0,
        min=0.0,
        max=1.0,
        description="Probability that a step goes to the left or right of its direction.",
    ),
    EnvOption(
        name="goal_reward",
        type="float",
        default=1.0,
        min=-100.0,
        max=100.0,
        description="Reward for reaching a goal G.",
    ),
    EnvOption(
        name="trap_reward",
        type="float",
        default=-1.0,
        min=-100.0,
        max=100.0,
        description="Reward for falling into a trap T.",
    ),
    EnvOption(
        name="step_reward",
        type="float",
        default=-0.01,
        min=-10.0,
        max=10.0,
        description="Reward per step; a negative one favors short paths.",
    ),
    EnvOption(
        name="observation",
        type="choice",
        default="coordinates",
        choices=("coordinates", "one-hot"),
        description="Whether observations are row and column, or one number per cell.",
    ),
)
_DEFAULTS = {option.name: option.default for option in _OPTIONS}
_COORDINATES = (
    Observed(name="row", low=0.0, high=1.0),
    Observed(name="column", low=0.0, high=1.0),
)


def _configured(values: Mapping[str, Any]) -> dict[str, Any]:
    grid = read_map(values["map"]) if values["map"] else two_rooms(values["size"])
    is_default = all(values[name] == _DEFAULTS[name] for name in values if name != "observation")
    return {
        "observed": _one_hot(grid) if values["observation"] == "one-hot" else _COORDINATES,
        "reward_range": _reward_range(grid, values),
        "solved_threshold": 0.8 if is_default else None,
    }


def _one_hot(grid: GridMap) -> tuple[Observed, ...]:
    return tuple(
        Observed(name=f"in row {row + 1}, column {column + 1}", low=0.0, high=1.0)
        for (row, column), _ in grid.marks()
    )


def _reward_range(grid: GridMap, values: Mapping[str, Any]) -> tuple[float, float]:
    ends = {"G": values["goal_reward"], "T": values["trap_reward"]}
    rewards = [ends[mark] for _, mark in grid.marks() if mark in ends]
    rewards += [float(mark) for _, mark in grid.marks() if mark.isdigit()]
    rewards.append(values["step_reward"])
    return min(rewards), max(rewards)


GRID_WORLD = EnvSpec(
    id="GridWorld-v0",
    name="Grid World",
    family="grid world",
    description="Find the way from the top left through a door to the goal at the bottom right.",
    action_kind=ActionKind.DISCRETE,
    n_actions=4,
    action_labels=("up", "right", "down", "left"),
    observed=_COORDINATES,
    reward_range=(-0.01, 1.0),
    solved_threshold=0.8,
    max_episode_steps=200,
    default_timesteps=100_000,
    options=_OPTIONS,
    changed_by=_configured,
)
