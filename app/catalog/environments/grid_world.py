"""GridWorld, the lab's own example of an environment: app/worker/envs/grid_world.py plays it."""

from collections.abc import Mapping
from typing import Any

from app.catalog.environments.options import EnvOption
from app.catalog.environments.spec import ActionKind, EnvSpec, Observed
from app.protocol.grid_map import MAX_SIDE, GridMap, read_map, two_rooms

_OPTIONS = (
    EnvOption(
        name="size",
        type="int",
        default=7,
        min=3,
        max=MAX_SIDE,
        description="How many rows and columns there are, unless a map says so.",
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
        description="How often a step goes to the left or right of where it was meant to.",
    ),
    EnvOption(
        name="goal_reward",
        type="float",
        default=1.0,
        min=-100.0,
        max=100.0,
        description="What reaching a goal G is worth.",
    ),
    EnvOption(
        name="trap_reward",
        type="float",
        default=-1.0,
        min=-100.0,
        max=100.0,
        description="What falling into a trap T is worth.",
    ),
    EnvOption(
        name="step_reward",
        type="float",
        default=-0.01,
        min=-10.0,
        max=10.0,
        description="What every step is worth; below zero it hurries the agent.",
    ),
    EnvOption(
        name="observation",
        type="choice",
        default="coordinates",
        choices=("coordinates", "one-hot"),
        description="Whether the agent sees its row and column, or one number per cell.",
    ),
)
_DEFAULTS = {option.name: option.default for option in _OPTIONS}
_COORDINATES = (
    Observed(name="row", low=0.0, high=1.0),
    Observed(name="column", low=0.0, high=1.0),
)


def _configured(values: Mapping[str, Any]) -> dict[str, Any]:
    grid = read_map(values["map"]) if values["map"] else two_rooms(values["size"])
    is_as_always = all(values[name] == _DEFAULTS[name] for name in values if name != "observation")
    return {
        "observed": _one_hot(grid) if values["observation"] == "one-hot" else _COORDINATES,
        "reward_range": _reward_range(grid, values),
        "solved_threshold": 0.8 if is_as_always else None,
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
