"""Families of environments that come with packages of their own."""

from dataclasses import dataclass
from functools import cache
from importlib.util import find_spec


@dataclass(frozen=True, slots=True)
class Extra:
    """An optional part of this project, named as in pyproject.toml."""

    name: str
    packages: tuple[str, ...]
    """What must be there to use it, as it is imported."""

    @property
    def is_installed(self) -> bool:
        """Whether its packages are there; they are looked for, not imported."""
        return all(map(_is_there, self.packages))

    @property
    def command(self) -> str:
        """The command that adds it, for a shell in the project's folder."""
        return f".venv/bin/pip install --editable '.[{self.name}]'"


@cache
def _is_there(package: str) -> bool:
    return find_spec(package) is not None


ATARI = Extra("atari", ("ale_py", "cv2"))
MINIGRID = Extra("minigrid", ("minigrid",))
MUJOCO = Extra("mujoco", ("mujoco", "imageio"))
