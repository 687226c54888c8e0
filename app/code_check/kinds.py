"""The kinds of code that people write, and what each of them has to define."""

from dataclasses import dataclass
from enum import StrEnum

ARGUMENTS = ("obs", "action", "next_obs", "reward", "terminated", "truncated", "info")
"""What a reward is asked with, in this order."""
SHORT_ARGUMENTS = ("obs", "action")


class CodeKind(StrEnum):
    """What code is for."""

    REWARD = "reward"
    EVALUATION = "evaluation"
    ENVIRONMENT = "environment"


@dataclass(frozen=True, slots=True)
class Signature:
    """A function that may be defined."""

    name: str
    arguments: tuple[str, ...]

    @property
    def head(self) -> str:
        """Its first line."""
        return f"def {self.name}({', '.join(self.arguments)})"


@dataclass(frozen=True, slots=True)
class ClassWanted:
    """A class that may be defined instead; `name` None: any that inherits from `base`."""

    name: str | None
    base: str | None
    methods: tuple[Signature, ...]
    """What it needs; arguments are counted without `self`."""


@dataclass(frozen=True, slots=True)
class Wanted:
    """What has to be defined: one of the functions, or the class."""

    functions: tuple[Signature, ...]
    of_class: ClassWanted | None
    advice: str
    """What to write where none of them is there."""
    returns: str
    """What the function has to return."""


_REWARD = Signature("reward", ARGUMENTS)

WANTED: dict[CodeKind, Wanted] = {
    CodeKind.REWARD: Wanted(
        functions=(_REWARD, Signature("reward_function", SHORT_ARGUMENTS)),
        of_class=ClassWanted(
            name="Reward",
            base=None,
            methods=(Signature("reset", ()), Signature("__call__", ARGUMENTS)),
        ),
        advice=f"Nothing here is a reward. Begin with: {_REWARD.head}:",
        returns="a number, or a dict of named numbers",
    ),
    CodeKind.EVALUATION: Wanted(
        functions=(Signature("evaluate", ("episode",)),),
        of_class=None,
        advice="Nothing here judges an episode. Begin with: def evaluate(episode):",
        returns="a number, or a dict of named numbers",
    ),
    CodeKind.ENVIRONMENT: Wanted(
        functions=(),
        of_class=ClassWanted(
            name=None,
            base="Env",
            methods=(Signature("step", ("action",)),),
        ),
        advice="Nothing here is an environment. Begin with: class MyWorld(gymnasium.Env):",
        returns="an observation and what belongs to it",
    ),
}
