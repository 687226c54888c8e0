"""The shortest path through MiniGrid's rooms: to the key, through the door, to the goal."""

from collections import deque
from collections.abc import Callable, Iterator
from typing import Any

_LEFT, _RIGHT, _FORWARD, _PICK_UP, _TOGGLE = 0, 1, 2, 3, 5
_AHEAD = ((1, 0), (0, 1), (-1, 0), (0, -1))
"""Right, down, left, up, in the order of MiniGrid's directions."""

State = tuple[int, int, int, bool, bool]
"""The agent's x, y and direction, whether it has the key, and whether all doors are open."""


def shortest_path_policy(world: Any) -> Callable[[Any], int]:  # noqa: ANN401 - a MiniGridEnv has no types
    """Return a policy that follows the shortest path and replans when it deviates."""
    plan: deque[tuple[State, int]] = deque()

    def act(_: Any) -> int:  # noqa: ANN401 - it reads the rooms, not the observation
        now = _read_state(world)
        if not plan or plan[0][0] != now:
            plan.clear()
            plan.extend(_plan(world, now))
        return plan.popleft()[1] if plan else _LEFT

    return act


def _read_state(world: Any) -> State:  # noqa: ANN401 - see above
    x, y = (int(part) for part in world.agent_pos)
    doors = [cell for cell in world.grid.grid if cell is not None and cell.type == "door"]
    doors_open = all(door.is_open for door in doors)
    return x, y, int(world.agent_dir), world.carrying is not None, doors_open


def _plan(world: Any, start: State) -> list[tuple[State, int]]:  # noqa: ANN401 - see above
    parents: dict[State, tuple[State, int]] = {}
    queue = deque([start])
    while queue:
        state = queue.popleft()
        cell = world.grid.get(state[0], state[1])
        if cell is not None and cell.type == "goal":
            return _path(parents, start, state)
        for action, next_state in _transitions(world, state):
            if next_state != start and next_state not in parents:
                parents[next_state] = state, action
                queue.append(next_state)
    return []


def _path(
    parents: dict[State, tuple[State, int]], start: State, end: State
) -> list[tuple[State, int]]:
    steps = []
    while end != start:
        end, action = parents[end]
        steps.append((end, action))
    return steps[::-1]


def _transitions(world: Any, state: State) -> Iterator[tuple[int, State]]:  # noqa: ANN401 - see above
    x, y, facing, has_key, doors_open = state
    yield _LEFT, (x, y, (facing - 1) % 4, has_key, doors_open)
    yield _RIGHT, (x, y, (facing + 1) % 4, has_key, doors_open)
    right, down = _AHEAD[facing]
    ahead = world.grid.get(x + right, y + down)
    kind = None if ahead is None else ahead.type
    is_free = kind in (None, "goal", "floor") or (kind == "key" and has_key)
    if is_free or (kind == "door" and doors_open):
        yield _FORWARD, (x + right, y + down, facing, has_key, doors_open)
    if kind == "key" and not has_key:
        yield _PICK_UP, (x, y, facing, True, doors_open)
    if kind == "door" and not doors_open and (has_key or not ahead.is_locked):
        yield _TOGGLE, (x, y, facing, has_key, True)
