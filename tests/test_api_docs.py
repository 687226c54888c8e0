"""The examples of docs/api.md, as a reader would try them."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.lab_server import LabServer

pytestmark = pytest.mark.slow

_PAGE = (Path(__file__).parent.parent / "docs" / "api.md").read_text()


def _example(language: str) -> str:
    (code,) = re.findall(rf"```{language}\n(.*?)```", _PAGE, re.S)
    assert isinstance(code, str)
    return code


def test_the_commands_for_a_shell_work(server: LabServer, tmp_path: Path) -> None:
    done = subprocess.run(
        ["sh", "-ec", _example("sh")],
        cwd=tmp_path,
        env={**os.environ, "LAB": server.url},
        capture_output=True,
        text=True,
        check=True,
    )

    assert '"name":"from a shell"' in done.stdout
    assert '"error":{' not in done.stdout
    assert "config.json" in done.stdout


def test_the_client_in_python_trains_and_downloads(server: LabServer, tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-c", _example("python"), server.url],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=True,
    )

    *lines, last = done.stdout.splitlines()
    assert len(lines) > 1
    assert re.fullmatch(r"\d{4,} bytes, for PPO.load", last)
