"""GridWorld: walk to the goal. Also the example of a custom environment."""

from typing import Any, Literal

import gymnasium as gym
import numpy as np
from gymnasium import spaces

from app.protocol import Cell, GridMap, read_map, two_rooms

Frame = np.ndarray[Any, np.dtype[np.uint8]]

_MOVES = ((-1, 0), (0, 1), (1, 0), (0, -1))
"""Up, right, down, left, each as (row, column) offsets."""


class GridWorld(gym.Env[Any, Any]):
    """An agent in a grid with walls, goals and traps."""

    # Gymnasium declares it without ClassVar.
    metadata = {"render_modes": ["rgb_array"], "render_fps": 8}  # noqa: RUF012

    def __init__(
        self,
        *,
        size: int = 7,
        map: str | None = None,
        slip: float = 0.0,
        goal_reward: float = 1.0,
        trap_reward: float = -1.0,
        step_reward: float = -0.01,
        observation: Literal["coordinates", "one-hot"] = "coordinates",
        render_mode: str | None = None,
    ) -> None:
        self._grid = read_map(map) if map else two_rooms(size)
        self._slip = slip
        self._step_reward = step_reward
        self._ends = _ends(self._grid, goal_reward, trap_reward)
        self._is_one_hot = observation == "one-hot"
        self._agent = self._grid.start
        self.render_mode = render_mode
        numbers = self._grid.height * self._grid.width if self._is_one_hot else 2
        self.observation_space = spaces.Box(0.0, 1.0, (numbers,), np.float32)
        self.action_space = spaces.Discrete(len(_MOVES))

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Any, dict[str, Any]]:
        """Put the agent at the start."""
        super().reset(seed=seed, options=options)
        self._agent = self._grid.start
        return self._observe(), {}

    def step(self, action: Any) -> tuple[Any, float, bool, bool, dict[str, Any]]:  # noqa: ANN401
        """Move, unless a wall is in the way."""
        direction = int(action)
        if self.np_random.random() < self._slip:
            # The agent slips perpendicular to the chosen direction.
            direction = (direction + self.np_random.choice((-1, 1))) % len(_MOVES)
        self._agent = self._after(_MOVES[direction])
        is_over = self._agent in self._ends
        reward = self._ends[self._agent] if is_over else self._step_reward
        return self._observe(), reward, is_over, False, {}

    def render(self) -> Frame:
        """Draw the grid from above."""
        return draw_grid(self._grid, self._agent)

    def _after(self, move: tuple[int, int]) -> Cell:
        row, column = self._agent[0] + move[0], self._agent[1] + move[1]
        is_inside = 0 <= row < self._grid.height and 0 <= column < self._grid.width
        return (row, column) if is_inside and self._grid.rows[row][column] != "#" else self._agent

    def _observe(self) -> np.ndarray[Any, np.dtype[np.float32]]:
        row, column = self._agent
        if self._is_one_hot:
            one_hot = np.zeros(self.observation_space.shape or (), np.float32)
            one_hot[row * self._grid.width + column] = 1.0
            return one_hot
        return np.array(
            (row / (self._grid.height - 1), column / (self._grid.width - 1)), np.float32
        )


def _ends(grid: GridMap, goal_reward: float, trap_reward: float) -> dict[Cell, float]:
    """Return the terminal cells and their rewards."""
    rewards = {"G": goal_reward, "T": trap_reward, **{str(n): float(n) for n in range(1, 10)}}
    return {cell: rewards[mark] for cell, mark in grid.marks() if mark in rewards}


_SIDE = 480
_FLOOR, _LINE, _WALL, _AGENT = (255, 255, 255), (229, 229, 229), (82, 82, 82), (17, 17, 17)
_COLOURS = {"#": _WALL, "T": (209, 26, 42), "S": (245, 245, 245)}
_GOAL = (21, 127, 60)


def draw_grid(grid: GridMap, agent: Cell) -> Frame:
    """Draw every cell, and a disc for the agent."""
    cell = _SIDE // max(grid.height, grid.width)
    frame = np.full((grid.height * cell + 1, grid.width * cell + 1, 3), _LINE, np.uint8)
    for (row, column), mark in grid.marks():
        colour = _GOAL if mark in "G123456789" else _COLOURS.get(mark, _FLOOR)
        frame[row * cell + 1 : (row + 1) * cell, column * cell + 1 : (column + 1) * cell] = colour
    top, left = agent[0] * cell + 1, agent[1] * cell + 1
    square = frame[top : top + cell - 1, left : left + cell - 1]
    rows, columns = np.ogrid[: cell - 1, : cell - 1]
    distance = np.hypot(rows - (cell - 2) / 2, columns - (cell - 2) / 2)
    # Antialiased: partly covered at the edge.
    cover = np.clip(cell * 0.32 - distance + 0.5, 0.0, 1.0)[..., np.newaxis]
    square[:] = (square * (1 - cover) + np.array(_AGENT) * cover).astype(np.uint8)
    return frame
