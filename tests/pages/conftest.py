from pathlib import Path

import pytest

from tests.lab_server import share_previews


@pytest.fixture(autouse=True)
def pictures(runs_dir: Path) -> None:
    """The lab of each test finds its pictures drawn."""
    share_previews(runs_dir)
