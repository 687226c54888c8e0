"""Optimal policies of environments small enough to compute them."""

from collections import deque
from collections.abc import Mapping
from typing import Any

import numpy as np

from app.protocol import Cell, GridMap

_DISCOUNT = 0.999
_TOLERANCE = 1e-6
_MAX_SWEEPS = 3_000
_MOVES = ((-1, 0), (0, 1), (1, 0), (0, -1))


def optimal_actions(world: Any) -> Any:  # noqa: ANN401 - toy-text environments share no class
    """Return the optimal action of each state by value iteration over `world.P`."""
    table = [[row[action] for action in row] for row in (world.P[s] for s in range(len(world.P)))]
    max_outcomes = max(len(outcomes) for row in table for outcomes in row)
    shape = (len(table), len(table[0]), max_outcomes)
    probabilities, rewards, continues = np.zeros(shape), np.zeros(shape), np.zeros(shape)
    next_states = np.zeros(shape, int)
    for state, row in enumerate(table):
        for action, outcomes in enumerate(row):
            for i, (probability, next_state, reward, ends) in enumerate(outcomes):
                index = state, action, i
                probabilities[index], next_states[index] = probability, next_state
                rewards[index], continues[index] = reward, not ends
    values = np.zeros(len(table))
    for _ in range(_MAX_SWEEPS):
        returns = rewards + _DISCOUNT * continues * values[next_states]
        q_values = (probabilities * returns).sum(axis=2)
        previous, values = values, q_values.max(axis=1)
        if np.abs(values - previous).max() < _TOLERANCE:
            break
    return q_values.argmax(axis=1)


def shortest_paths_to_best_goal(grid: GridMap, ends: Mapping[Cell, float]) -> dict[Cell, int]:
    """Return the move in each cell on the shortest path to the end with the highest reward."""
    goal = max(ends, key=lambda cell: ends[cell])
    free = {cell for cell, mark in grid.marks() if mark != "#"} - set(ends)
    moves: dict[Cell, int] = {}
    queue = deque([goal])
    while queue:
        cell = queue.popleft()
        for direction, (down, right) in enumerate(_MOVES):
            previous = (cell[0] - down, cell[1] - right)
            if previous in free and previous not in moves:
                moves[previous] = direction
                queue.append(previous)
    return moves
