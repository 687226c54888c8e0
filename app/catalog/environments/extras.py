"""Optional dependency groups of environment families."""

from dataclasses import dataclass
from functools import cache
from importlib.util import find_spec


@dataclass(frozen=True, slots=True)
class Extra:
    """An optional dependency group, named as in pyproject.toml."""

    name: str
    packages: tuple[str, ...]
    """The import names of the required packages."""

    @property
    def is_installed(self) -> bool:
        """Whether its packages are installed; checked without importing them."""
        return all(map(_is_importable, self.packages))

    @property
    def command(self) -> str:
        """The shell command that installs it, to be run in the project's folder."""
        return f".venv/bin/pip install --editable '.[{self.name}]'"


@cache
def _is_importable(package: str) -> bool:
    return find_spec(package) is not None


ATARI = Extra("atari", ("ale_py", "cv2"))
MINIGRID = Extra("minigrid", ("minigrid",))
MUJOCO = Extra("mujoco", ("mujoco", "imageio"))
