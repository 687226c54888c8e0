"""The template of a custom environment: a small GridWorld in one file."""

TEMPLATE = '''"""Walk through a grid to the goal, around the walls."""

import gymnasium as gym
import numpy as np
from gymnasium import spaces

MAP = ["S....", ".##..", "...#.", ".#...", "...#G"]
MOVES = [(-1, 0), (0, 1), (1, 0), (0, -1)]
COLOURS = {".": (255, 255, 255), "S": (240, 240, 240), "#": (82, 82, 82), "G": (21, 127, 60)}


class Maze(gym.Env):
    """The agent sees its row and column, and takes one of four steps."""

    metadata = {"render_modes": ["rgb_array"], "render_fps": 8}
    max_episode_steps = 100
    reward_threshold = 0.9
    observation_names = ("row", "column")
    action_names = ("up", "right", "down", "left")

    def __init__(self, render_mode=None):
        self.render_mode = render_mode
        self.observation_space = spaces.Box(0.0, 1.0, (2,), np.float32)
        self.action_space = spaces.Discrete(len(MOVES))

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)  # seeds self.np_random: use it for all random numbers
        self.agent = (0, 0)
        return self.observe(), {}

    def step(self, action):
        row = self.agent[0] + MOVES[action][0]
        column = self.agent[1] + MOVES[action][1]
        inside = 0 <= row < len(MAP) and 0 <= column < len(MAP[0])
        if inside and MAP[row][column] != "#":
            self.agent = (row, column)
        at_goal = MAP[self.agent[0]][self.agent[1]] == "G"
        return self.observe(), 1.0 if at_goal else -0.01, at_goal, False, {}

    def observe(self):
        return np.array(self.agent, np.float32) / (len(MAP) - 1)

    def render(self):
        cells = [[COLOURS[mark] for mark in line] for line in MAP]
        cells[self.agent[0]][self.agent[1]] = (17, 17, 17)
        return np.kron(np.array(cells, np.uint8), np.ones((60, 60, 1), np.uint8))
'''
