"""The shortest way through MiniGrid's rooms: to the key, through the door, to the goal."""

from collections import deque
from collections.abc import Callable, Iterator
from typing import Any

_LEFT, _RIGHT, _FORWARD, _PICK_UP, _TOGGLE = 0, 1, 2, 3, 5
_AHEAD = ((1, 0), (0, 1), (-1, 0), (0, -1))
"""Right, down, left, up, as MiniGrid counts directions."""

State = tuple[int, int, int, bool, bool]
"""Where the agent is, where it looks, whether it has the key, and whether doors are open."""


def through_rooms(world: Any) -> Callable[[Any], int]:  # noqa: ANN401 - a MiniGridEnv has no types
    """Return who walks the shortest way, and finds a new one after every surprise."""
    plan: deque[tuple[State, int]] = deque()

    def act(_: Any) -> int:  # noqa: ANN401 - the rooms are looked at, not what is seen of them
        now = _state(world)
        if not plan or plan[0][0] != now:
            plan.clear()
            plan.extend(_plan(world, now))
        return plan.popleft()[1] if plan else _LEFT

    return act


def _state(world: Any) -> State:  # noqa: ANN401 - see above
    x, y = (int(part) for part in world.agent_pos)
    doors = [cell for cell in world.grid.grid if cell is not None and cell.type == "door"]
    is_open = all(door.is_open for door in doors)
    return x, y, int(world.agent_dir), world.carrying is not None, is_open


def _plan(world: Any, start: State) -> list[tuple[State, int]]:  # noqa: ANN401 - see above
    came_from: dict[State, tuple[State, int]] = {}
    waiting = deque([start])
    while waiting:
        state = waiting.popleft()
        standing_on = world.grid.get(state[0], state[1])
        if standing_on is not None and standing_on.type == "goal":
            return _way_back(came_from, start, state)
        for action, after in _moves(world, state):
            if after != start and after not in came_from:
                came_from[after] = state, action
                waiting.append(after)
    return []


def _way_back(
    came_from: dict[State, tuple[State, int]], start: State, end: State
) -> list[tuple[State, int]]:
    steps = []
    while end != start:
        end, action = came_from[end]
        steps.append((end, action))
    return steps[::-1]


def _moves(world: Any, state: State) -> Iterator[tuple[int, State]]:  # noqa: ANN401 - see above
    x, y, facing, has_key, is_open = state
    yield _LEFT, (x, y, (facing - 1) % 4, has_key, is_open)
    yield _RIGHT, (x, y, (facing + 1) % 4, has_key, is_open)
    right, down = _AHEAD[facing]
    ahead = world.grid.get(x + right, y + down)
    kind = None if ahead is None else ahead.type
    is_free = kind in (None, "goal", "floor") or (kind == "key" and has_key)
    if is_free or (kind == "door" and is_open):
        yield _FORWARD, (x + right, y + down, facing, has_key, is_open)
    if kind == "key" and not has_key:
        yield _PICK_UP, (x, y, facing, True, is_open)
    if kind == "door" and not is_open and (has_key or not ahead.is_locked):
        yield _TOGGLE, (x, y, facing, has_key, True)
