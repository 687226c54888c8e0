from pathlib import Path

import pytest

from tests.lab_server import share_pictures


@pytest.fixture(autouse=True)
def pictures(runs_dir: Path) -> None:
    """The lab of each test finds its pictures drawn."""
    share_pictures(runs_dir)
