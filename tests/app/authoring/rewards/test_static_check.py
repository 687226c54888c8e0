"""What is said of code without running it."""

import pytest

from app.catalog.environments.catalogue import CATALOGUE
from app.code_check.kinds import CodeKind
from app.code_check.problems import Severity
from app.code_check.static_check import check, first_error

CARTPOLE = CATALOGUE["CartPole-v1"]
HEAD = "def reward(obs, action, next_obs, reward, terminated, truncated, info):\n"

CLEAN = {
    "the default": HEAD + "    return reward\n",
    "the short form": "def reward_function(obs, action):\n    return -abs(obs.cart_position)\n",
    "with any names": "def reward(o, a, n, r, end, cut, i):\n    return r\n",
    "with stars": "def reward(*everything):\n    return everything[3]\n",
    "a class with reset": (
        "class Reward:\n    def reset(self):\n        self.steps = 0\n\n"
        "    def __call__(self, obs, action, next_obs, reward, terminated, truncated, info):\n"
        "        self.steps += 1\n        return {'reward': reward, 'time': -0.1 * self.steps}\n"
    ),
    "scopes of every kind": (
        "import numpy as np\nfrom math import pi as half\nBEST = [k for k in range(3)]\n\n"
        "def helper(x, *, scale=half):\n    def inner():\n        return x * scale\n"
        "    return inner()\n\n" + HEAD + "    try:\n        best, *rest = sorted(BEST)\n"
        "    except ValueError as error:\n        return float(len(str(error)))\n"
        "    if (n := len(rest)) > 1:\n        del rest\n"
        "    low = min((lambda v: v + n)(q) for q in obs)\n"
        "    return {name: float(np.abs(value)) for name, value in zip('ab', (low, best))}\n"
    ),
    "a loop that ends": HEAD + "    while True:\n        if reward:\n            break\n"
    "    return helper()\n\ndef helper():\n    return 1.0\n",
    "an observation that was replaced": HEAD + "    obs = info\n    return obs.anything\n",
    "a loop that an error ends": HEAD
    + "    try:\n        while True:\n            next(iter(()))\n"
    "    except StopIteration:\n        return 1.0\n    return 0.0\n",
    "names by other means": "globals()['K'] = 1.0\n" + HEAD + "    return K\n",
    "a private name": "class A:\n    __x = 1\n    y = __x\n\n" + HEAD + "    return A.y\n",
    "what arrays can do": HEAD + "    return float(obs.sum() + next_obs[-1])\n",
    "defined below if": "if True:\n    def reward_function(obs, action):\n        return 1.0\n",
}

WRONG = {
    "half a line": (HEAD + "    return reward +\n", 2, "can't read"),
    "a return outside": ("return 1\n", 1, "outside function"),
    "nothing defined": ("x = 1\n", 1, "Nothing here is a reward"),
    "too few arguments": ("def reward(obs, action):\n    return 1.0\n", 1, "7 arguments"),
    "one too many": ("def reward_function(obs, action, x):\n    return 1.0\n", 1, "2 arguments"),
    "async": ("async " + HEAD + "    return reward\n", 1, "can't be async"),
    "no value": (HEAD + "    reward + 1\n", 1, "returns nothing"),
    "a generator": (HEAD + "    yield reward\n", 1, "yields"),
    "a class without reset": (
        "class Reward:\n    def __call__(self, *given):\n        return 1.0\n",
        1,
        "def reset(self)",
    ),
    "a name nobody defined": (HEAD + "    return rewrd\n", 2, "Did you mean reward?"),
    "numpy not imported": (HEAD + "    return np.abs(reward)\n", 2, "import numpy as np"),
    "a name of another function": (
        "def f():\n    inner = 1\n    return inner\n\n" + HEAD + "    return inner\n",
        6,
        "inner isn't defined",
    ),
    "a module that isn't there": ("import nunpy\n" + HEAD + "    return 1.0\n", 1, "no module"),
    "a part of the lab": ("import storage\n" + HEAD + "    return 1.0\n", 1, "no module storage"),
    "an unknown component": (
        HEAD + "    return obs.cart_positon\n",
        2,
        "Did you mean cart_position?",
    ),
    "a place beyond the last": (HEAD + "    return next_obs[4]\n", 2, "[0] to [3]"),
    "nested too deeply": ("x = " + "-" * 9_000 + "1", 1, "nested too deeply"),
    "a name of thousands of parts": ("import " + "a." * 30_000 + "a", 1, "parts between dots"),
    "a null byte": ("x = 1\0", 1, "null bytes"),
    "half of a pair": ("x = '\ud800'", 1, "half of a pair"),
    "too long": ("#" * 70_000, 1, "64 KiB"),
}

DOUBTFUL = {
    "the network": ("import requests\n" + HEAD + "    return 1.0\n", 1, "no network"),
    "files": ("from os import path\n" + HEAD + "    return 1.0\n", 1, "no files"),
    "programs": (HEAD + "    import subprocess\n    return 1.0\n", 2, "other programs"),
    "a loop without an end": (HEAD + "    while True:\n        pass\n", 2, "no way out"),
    "a break of another loop": (
        HEAD + "    while 1:\n        for _ in obs:\n            break\n",
        2,
        "no way out",
    ),
    "lines after a return": (HEAD + "    return 1.0\n    print(obs)\n", 3, "never reached"),
}


@pytest.mark.parametrize("case", CLEAN)
def test_good_code_has_no_problems(case: str) -> None:
    assert check(CLEAN[case], CodeKind.REWARD, CARTPOLE) == []
    assert first_error(CLEAN[case], CodeKind.REWARD) is None


@pytest.mark.parametrize("case", WRONG)
def test_an_error_names_its_line(case: str) -> None:
    code, line, text = WRONG[case]
    problems = check(code, CodeKind.REWARD, CARTPOLE)
    assert [(p.line, text in p.message) for p in problems if p.is_error] == [(line, True)]


@pytest.mark.parametrize("case", DOUBTFUL)
def test_what_is_only_doubtful_is_a_warning(case: str) -> None:
    code, line, text = DOUBTFUL[case]
    found = check(code, CodeKind.REWARD, CARTPOLE)
    warned = [(p.line, text in p.message) for p in found if p.severity is Severity.WARNING]
    assert warned == [(line, True)]


def test_columns_are_those_of_an_editor() -> None:
    (problem,) = check(HEAD + "    return 'äöü' or nobody\n", CodeKind.REWARD, CARTPOLE)
    assert (problem.line, problem.column, problem.end_column) == (2, 21, 27)


def test_observations_are_only_judged_where_they_are_known() -> None:
    code = HEAD + "    return obs.anything[900]\n"
    assert check(code, CodeKind.REWARD) == []
    assert check(code, CodeKind.REWARD, CATALOGUE["ALE/Pong-v5"]) == []


def test_a_run_is_refused_for_what_it_defines_but_not_for_a_name() -> None:
    assert first_error(HEAD + "    return nobody\n", CodeKind.REWARD) is None
    refused = first_error("def rewards():\n    pass\n", CodeKind.REWARD)
    assert refused is not None
    assert "Begin with: def reward(obs" in refused.message


def test_evaluations_and_environments_have_definitions_of_their_own() -> None:
    judge = "def evaluate(episode):\n    return {'steps': len(episode)}\n"
    world = "import gymnasium as gym\n\nclass Maze(gym.Env):\n    def step(self, action):\n"
    assert check(judge, CodeKind.EVALUATION) == []
    assert check(world + "        return 0, 0.0, True, False, {}\n", CodeKind.ENVIRONMENT) == []
    assert first_error(judge, CodeKind.ENVIRONMENT) is not None
    assert first_error(world + "        pass\n", CodeKind.ENVIRONMENT) is not None
