"""Best plans for worlds small enough to be worked out."""

from collections import deque
from collections.abc import Mapping
from typing import Any

import numpy as np

from app.protocol.grid_map import Cell, GridMap

_FAR_SIGHTED = 0.999
_CLOSE_ENOUGH = 1e-6
_MOST_SWEEPS = 3_000
_MOVES = ((-1, 0), (0, 1), (1, 0), (0, -1))


def best_actions(world: Any) -> Any:  # noqa: ANN401 - toy-text environments share no class
    """Return the best action in each state of a world that lists its transitions."""
    table = [[row[action] for action in row] for row in (world.P[s] for s in range(len(world.P)))]
    most = max(len(outcomes) for row in table for outcomes in row)
    shape = (len(table), len(table[0]), most)
    chances, rewards, goes_on = np.zeros(shape), np.zeros(shape), np.zeros(shape)
    after = np.zeros(shape, int)
    for state, row in enumerate(table):
        for action, outcomes in enumerate(row):
            for i, (chance, state_after, reward, ends) in enumerate(outcomes):
                place = state, action, i
                chances[place], after[place] = chance, state_after
                rewards[place], goes_on[place] = reward, not ends
    worth = np.zeros(len(table))
    for _ in range(_MOST_SWEEPS):
        of_each = (chances * (rewards + _FAR_SIGHTED * goes_on * worth[after])).sum(axis=2)
        before, worth = worth, of_each.max(axis=1)
        if np.abs(worth - before).max() < _CLOSE_ENOUGH:
            break
    return of_each.argmax(axis=1)


def ways_to_the_best_end(grid: GridMap, ends: Mapping[Cell, float]) -> dict[Cell, int]:
    """Return the move to make in each cell on the shortest way to the end that is worth most."""
    goal = max(ends, key=lambda cell: ends[cell])
    is_open = {cell for cell, mark in grid.marks() if mark != "#"} - set(ends)
    moves: dict[Cell, int] = {}
    waiting = deque([goal])
    while waiting:
        cell = waiting.popleft()
        for direction, (down, right) in enumerate(_MOVES):
            before = (cell[0] - down, cell[1] - right)
            if before in is_open and before not in moves:
                moves[before] = direction
                waiting.append(before)
    return moves
