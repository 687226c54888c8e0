"""The examples of docs/api.md, run as a reader would run them."""

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


def test_the_shell_example_works(server: LabServer, tmp_path: Path) -> None:
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


def test_the_comparison_example_lists_the_differences(server: LabServer, tmp_path: Path) -> None:
    done = subprocess.run(
        ["sh", "-ec", _example("sh compare")],
        cwd=tmp_path,
        env={**os.environ, "LAB": server.url},
        capture_output=True,
        text=True,
        check=True,
    )

    assert "hyperparameters.learning_rate,0.0001,0.001" in done.stdout
    assert '"error":{' not in done.stdout


def test_the_python_example_trains_a_run_and_downloads_its_model(
    server: LabServer, tmp_path: Path
) -> None:
    done = subprocess.run(
        [sys.executable, "-c", _example("python"), server.url],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=True,
    )

    *lines, last = done.stdout.splitlines()
    # Each of 8 environments takes 1,024 steps, and no episode is longer than 500.
    assert len(lines) >= 16
    assert all(re.fullmatch(r"step \d+: reward \d+", line) for line in lines)
    assert re.fullmatch(r"\d{4,} bytes, for PPO.load", last)


def test_the_preview_example_steps_undoes_a_step_and_saves_the_episode(
    server: LabServer, tmp_path: Path
) -> None:
    done = subprocess.run(
        [sys.executable, "-c", _example("python preview"), server.url],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=True,
    )

    state, back, kept = done.stdout.splitlines()
    assert re.fullmatch(r"state \d+(\.0)? from 0.0 to 15.0", state)
    assert back == "step 0 return 0.0"
    assert re.fullmatch(r"kept \d+ steps", kept)


def test_the_evaluation_example_evaluates_a_policy_and_downloads_the_video(
    server: LabServer, tmp_path: Path
) -> None:
    server.train(total_timesteps=500)

    done = subprocess.run(
        [sys.executable, "-c", _example("python evaluate"), server.url],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=True,
    )

    numbers, video = done.stdout.splitlines()
    assert numbers.startswith("completed ")
    assert re.fullmatch(r"\d{4,} bytes of MP4", video)


def test_the_reward_example_finds_a_reward_hack(server: LabServer, tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-c", _example("python reward"), server.url],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=True,
    )

    assert "upright" in done.stdout
    assert "Hackable by: action" in done.stdout
