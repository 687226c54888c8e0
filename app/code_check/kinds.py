"""The kinds of users' code, and what each must define."""

from dataclasses import dataclass
from enum import StrEnum

ARGUMENTS = ("obs", "action", "next_obs", "reward", "terminated", "truncated", "info")
"""The arguments of a reward function, in order."""
SHORT_ARGUMENTS = ("obs", "action")


class CodeKind(StrEnum):
    """The purpose of code."""

    REWARD = "reward"
    EVALUATION = "evaluation"
    ENVIRONMENT = "environment"


@dataclass(frozen=True, slots=True)
class Signature:
    """The name and the arguments of a function."""

    name: str
    arguments: tuple[str, ...]

    @property
    def head(self) -> str:
        """Its first line."""
        return f"def {self.name}({', '.join(self.arguments)})"


@dataclass(frozen=True, slots=True)
class RequiredClass:
    """A class with this name or, if `name` is None, any class that inherits from `base`."""

    name: str | None
    base: str | None
    methods: tuple[Signature, ...]
    """The methods that it needs; arguments are without `self`."""


@dataclass(frozen=True, slots=True)
class Requirement:
    """What a kind of code must define: one of the functions, or the class."""

    functions: tuple[Signature, ...]
    of_class: RequiredClass | None
    advice: str
    """The error message if none of them is defined."""
    returns: str
    """What the function must return, as text."""


_REWARD = Signature("reward", ARGUMENTS)

REQUIREMENTS: dict[CodeKind, Requirement] = {
    CodeKind.REWARD: Requirement(
        functions=(_REWARD, Signature("reward_function", SHORT_ARGUMENTS)),
        of_class=RequiredClass(
            name="Reward",
            base=None,
            methods=(Signature("reset", ()), Signature("__call__", ARGUMENTS)),
        ),
        advice=f"No reward function found. Start with: {_REWARD.head}:",
        returns="a number, or a dict of named numbers",
    ),
    CodeKind.EVALUATION: Requirement(
        functions=(Signature("evaluate", ("episode",)),),
        of_class=None,
        advice="No evaluation function found. Start with: def evaluate(episode):",
        returns="a number, or a dict of named numbers",
    ),
    CodeKind.ENVIRONMENT: Requirement(
        functions=(),
        of_class=RequiredClass(
            name=None,
            base="Env",
            methods=(Signature("step", ("action",)),),
        ),
        advice="No environment class found. Start with: class MyWorld(gymnasium.Env):",
        returns="observation, reward, terminated, truncated and info",
    ),
}
