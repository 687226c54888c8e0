import io
import os
from collections.abc import Sequence
from contextlib import redirect_stderr, redirect_stdout
from dataclasses import dataclass
from pathlib import Path
from unittest.mock import patch

import pytest

from app.cli import run_command

SMALL = ("--set", "n_steps=64", "--set", "net_arch=8", "--n-envs", "2", "--timesteps", "2000")


def run_here(*flags: str, **settings: str) -> tuple[int, str]:
    """Run a command in this process, which has imported everything; return code and output."""
    output = io.StringIO()
    environment = {"RL_LAB_CLIPS": "0", **settings}
    with patch.dict(os.environ, environment), redirect_stdout(output), redirect_stderr(output):
        code = run_command(flags)
    return code, output.getvalue()


@dataclass(frozen=True, slots=True)
class TrainedLab:
    """A folder with the runs of two seeds, trained by the command."""

    folder: Path
    code: int
    output: str

    @property
    def run_ids(self) -> Sequence[str]:
        """As the first lines announce them, in the order of seeds."""
        lines = self.output.splitlines()[:2]
        return [line.rpartition(" ")[2] for line in lines]

    def command(self, *flags: str) -> tuple[int, str]:
        return run_here(*flags, RL_LAB_RUNS=str(self.folder))


@pytest.fixture(scope="session")
def trained(tmp_path_factory: pytest.TempPathFactory) -> TrainedLab:
    folder = tmp_path_factory.mktemp("trained-by-command")
    wrappers = ("--wrapper", "normalize_observation=true", "--wrapper", "action_noise=0.1")
    flags = ("CartPole-v1", "--algorithm", "ppo", "--seeds", "7,3", *SMALL, *wrappers)
    code, output = run_here("train", *flags, RL_LAB_RUNS=str(folder))
    return TrainedLab(folder, code, output)
