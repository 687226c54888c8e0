from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.lab_server import run_main_to_its_end

SMALL = ("--set", "n_steps=64", "--set", "net_arch=8", "--n-envs", "2", "--timesteps", "2000")


@dataclass(frozen=True, slots=True)
class TrainedLab:
    """A folder with the runs of two seeds, trained by the command."""

    folder: Path
    code: int
    output: str

    @property
    def run_ids(self) -> list[str]:
        """As the first lines announce them, in the order of seeds."""
        lines = self.output.splitlines()[:2]
        return [line.rpartition(" ")[2] for line in lines]

    def command(self, *flags: str) -> tuple[int, str]:
        return run_main_to_its_end(*flags, within=150, RL_LAB_RUNS=str(self.folder))


@pytest.fixture(scope="session")
def trained(tmp_path_factory: pytest.TempPathFactory) -> TrainedLab:
    folder = tmp_path_factory.mktemp("trained-by-command")
    wrappers = ("--wrapper", "normalize_observation=true", "--wrapper", "action_noise=0.1")
    flags = ("CartPole-v1", "--algorithm", "ppo", "--seeds", "7,3", *SMALL, *wrappers)
    code, output = run_main_to_its_end("train", *flags, within=150, RL_LAB_RUNS=str(folder))
    return TrainedLab(folder, code, output)
