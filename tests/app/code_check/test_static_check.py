"""The static check of code."""

import pytest

from app.catalog.environments.catalogue import ENVIRONMENTS
from app.code_check.kinds import CodeKind
from app.code_check.problems import Severity
from app.code_check.static_check import check, first_error

CARTPOLE = ENVIRONMENTS["CartPole-v1"]
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
    "a name that only a type in quotes has": HEAD.replace("obs,", "obs: 'np.ndarray',")
    + "    return reward\n",
    "names of a module that is imported whole": "from math import *\n" + HEAD + "    return pi\n",
    "a global of another function": (
        "def begin():\n    global SCALE\n    SCALE = 2.0\n\n" + HEAD + "    return SCALE\n"
    ),
    "what arrays can do": HEAD + "    return float(obs.sum() + next_obs[-1])\n",
    "defined below if": "if True:\n    def reward_function(obs, action):\n        return 1.0\n",
}

WRONG = {
    "half a line": (HEAD + "    return reward +\n", 2, "can't read"),
    "a return outside": ("return 1\n", 1, "outside function"),
    "nothing defined": ("x = 1\n", 1, "No reward function found"),
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
    "an attribute of the class without self": (
        "class Reward:\n    scale = 2.0\n\n    def reset(self):\n        pass\n\n"
        "    def __call__(self, *given):\n        return scale\n",
        8,
        "scale isn't defined",
    ),
    "a name that was deleted": (HEAD + "    del obs\n    return obs\n", 3, "obs isn't defined"),
    "a name before its line": (
        "LONG = 2 * SHORT\nSHORT = 1\n\n" + HEAD + "    return LONG\n",
        1,
        "SHORT isn't defined",
    ),
    "a name with a comment against linters": (
        HEAD + "    return nobody  # noqa\n",
        2,
        "nobody isn't defined",
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
    "unpaired surrogates": ("x = '\ud800'", 1, "unpaired surrogates"),
    "too long": ("#" * 70_000, 1, "64 KiB"),
}

DOUBTFUL = {
    "the network": ("import requests\n" + HEAD + "    return 1.0\n", 1, "no network"),
    "files": ("from os import path\n" + HEAD + "    return 1.0\n", 1, "no access to files"),
    "programs": (HEAD + "    import subprocess\n    return 1.0\n", 2, "other programs"),
    "a loop without an end": (HEAD + "    while True:\n        pass\n", 2, "never ends"),
    "a break of another loop": (
        HEAD + "    while 1:\n        for _ in obs:\n            break\n",
        2,
        "never ends",
    ),
    "lines after a return": (HEAD + "    return 1.0\n    print(obs)\n", 3, "unreachable"),
}


@pytest.mark.parametrize("case", CLEAN)
async def test_good_code_has_no_problems(case: str) -> None:
    assert await check(CLEAN[case], CodeKind.REWARD, CARTPOLE) == []
    assert first_error(CLEAN[case], CodeKind.REWARD) is None


@pytest.mark.parametrize("case", WRONG)
async def test_an_error_names_its_line(case: str) -> None:
    code, line, text = WRONG[case]
    problems = await check(code, CodeKind.REWARD, CARTPOLE)
    assert [(p.line, text in p.message) for p in problems if p.is_error] == [(line, True)]


@pytest.mark.parametrize("case", DOUBTFUL)
async def test_doubtful_code_gets_a_warning(case: str) -> None:
    code, line, text = DOUBTFUL[case]
    problems = await check(code, CodeKind.REWARD, CARTPOLE)
    warned = [(p.line, text in p.message) for p in problems if p.severity is Severity.WARNING]
    assert warned == [(line, True)]


async def test_columns_are_counted_as_in_the_editor() -> None:
    (problem,) = await check(HEAD + "    return 'äöü' or nobody\n", CodeKind.REWARD, CARTPOLE)
    assert (problem.line, problem.column, problem.end_column) == (2, 21, 27)


async def test_only_the_first_of_many_undefined_names_are_shown() -> None:
    code = HEAD + "    return reward\n" + "".join(f"x{i}\n" for i in range(8_000))
    problems = await check(code, CodeKind.REWARD)
    assert [problem.line for problem in problems] == list(range(3, 53))


async def test_observations_are_checked_only_where_they_are_known() -> None:
    code = HEAD + "    return obs.anything[900]\n"
    assert await check(code, CodeKind.REWARD) == []
    assert await check(code, CodeKind.REWARD, ENVIRONMENTS["ALE/Pong-v5"]) == []


def test_a_run_is_refused_for_a_missing_definition_but_not_for_an_undefined_name() -> None:
    assert first_error(HEAD + "    return nobody\n", CodeKind.REWARD) is None
    refused = first_error("def rewards():\n    pass\n", CodeKind.REWARD)
    assert refused is not None
    assert "Start with: def reward(obs" in refused.message


async def test_evaluations_and_environments_require_their_own_definitions() -> None:
    evaluation = "def evaluate(episode):\n    return {'steps': len(episode)}\n"
    environment = "import gymnasium as gym\n\nclass Maze(gym.Env):\n    def step(self, action):\n"
    assert await check(evaluation, CodeKind.EVALUATION) == []
    assert (
        await check(environment + "        return 0, 0.0, True, False, {}\n", CodeKind.ENVIRONMENT)
        == []
    )
    assert first_error(evaluation, CodeKind.ENVIRONMENT) is not None
    assert first_error(environment + "        pass\n", CodeKind.ENVIRONMENT) is not None
