import subprocess
import sys
from pathlib import Path

import pytest

from app.cli import COMMANDS, run_command
from app.cli.parsing import read_pairs, read_value
from app.core.errors import InputError
from app.core.settings import read_settings
from tests.lab_server import ROOT, run_main


@pytest.mark.parametrize(
    ("flags", "sentence"),
    [
        (["train"], "The following arguments are required: ENVIRONMENT."),
        (["train", "CartPol-v1"], "Unknown environment 'CartPol-v1'. Did you mean CartPole-v1?"),
        (["train", "CartPole-v1", "--algorithm", "sac"], "--algorithm: SAC needs continuous"),
        (["train", "CartPole-v1", "--timesteps", "0"], "--timesteps must be at least 1, got 0."),
        (["train", "CartPole-v1", "--preset", "x"], "--preset must be 'fast', 'stable',"),
        (["train", "CartPole-v1", "--seeds", "0"], "--seeds must be a number from 1 to 50"),
        (["train", "CartPole-v1", "--set", "gamma=2"], "--set gamma must be a number from"),
        (["train", "CartPole-v1", "--set", "gama=1"], "--set gama: PPO has no hyperparameter"),
        (["train", "CartPole-v1", "--set", "gamma"], "--set must look like NAME=VALUE"),
        (["train", "CartPole-v1", "--wrapper", "x=1"], "--wrapper x doesn't exist. Choose one of"),
        (["train", "CartPole-v1", "--init-from", "abc"], "There is no run 'abc'."),
        (["train", "CartPole-v1", "--engine", "x"], "--engine must be 'auto', 'fast' or 'sb3'"),
        (
            ["train", "CartPole-v1", "--algorithm", "qrdqn", "--engine", "fast"],
            (
                "--engine fast can't train this: the fast engine does not support QRDQN. Use "
                "auto or sb3."
            ),
        ),
        (["train", "CartPole-v1", "--workers", "0"], "--workers must be a number from 1"),
        (["train", "CartPole-v1", "--colour"], "Unrecognized arguments: --colour."),
        (["evaluate", "latest"], "There is no run 'latest'."),
        (["evaluate", "abc", "--episodes", "0"], "--episodes must be a whole number from 1"),
        (["runs", "--status", "lost"], "--status: invalid choice: 'lost' (choose from"),
        (["runs", "--limit", "many"], "--limit must be a number from 1 to 10,000, got 'many'."),
        (["export", "latest"], "The following arguments are required: --to."),
        (["export", "latest", "--to", "x.zip"], "There is no run 'latest'."),
    ],
)
def test_wrong_usage_is_one_sentence_and_exit_code_2(
    flags: list[str], sentence: str, capsys: pytest.CaptureFixture[str]
) -> None:
    code = run_command(flags)

    printed = capsys.readouterr()
    assert code == 2
    assert sentence in printed.err
    assert len((printed.out + printed.err).splitlines()) == 1


@pytest.mark.slow
@pytest.mark.parametrize(
    ("flags", "sentence"),
    [
        (["train", "CartPole-v1", "--seeds", "0"], "--seeds must be a number from 1 to 50"),
        (["dance"], "invalid choice: 'dance' (choose from"),
        (["--no-browser", "train"], "The command comes first: python main.py train --help"),
    ],
)
def test_the_program_refuses_wrong_usage_in_the_same_way(
    flags: list[str], sentence: str, runs_dir: Path
) -> None:
    code, output = run_main(*flags, RL_LAB_RUNS=str(runs_dir))

    assert code == 2
    assert sentence in output
    assert len(output.splitlines()) == 1


def test_a_refused_command_leaves_no_run_behind(capsys: pytest.CaptureFixture[str]) -> None:
    run_command(["train", "CartPole-v1", "--seeds", "0"])

    code = run_command(["runs"])

    assert code == 0
    assert capsys.readouterr().out.startswith("No runs yet. Train one with python main.py train")


@pytest.mark.parametrize("command", COMMANDS)
def test_the_help_of_every_command_has_an_example(
    command: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit, match="0"):
        run_command([command, "--help"])

    assert f"for example:\n  python main.py {command}" in capsys.readouterr().out


def test_the_help_of_the_program_names_every_command(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit, match="0"):
        read_settings(["--help"], {}, commands=COMMANDS)

    printed = capsys.readouterr().out
    assert all(f"  {name} " in printed for name in COMMANDS)


@pytest.mark.parametrize("command", ["runs", "export"])
def test_read_only_commands_avoid_heavy_imports(command: str) -> None:
    code = f"import app.cli.{command}, sys; print({{'nicegui', 'torch'}} & set(sys.modules))"

    done = subprocess.run(
        [sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True
    )

    assert done.stdout.strip() == "set()"


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("1e-3", 1e-3),
        ("64", 64),
        ("64,32", [64, 32]),
        ("true", True),
        ("null", None),
        ("0.001 -> 0", "0.001 -> 0"),
        ("0: 0.001, 1: 0.0001", "0: 0.001, 1: 0.0001"),
        ('{"gravity": [8, 12]}', {"gravity": [8, 12]}),
        ("NaN", "NaN"),
        ("relu", "relu"),
    ],
)
def test_values_are_read_as_users_type_them(text: str, value: object) -> None:
    assert read_value(text) == value


def test_one_layer_needs_no_brackets_and_a_repeated_name_is_refused() -> None:
    assert read_pairs("--set", ["net_arch=8", "gamma=0.9"]) == {"net_arch": [8], "gamma": 0.9}
    with pytest.raises(InputError, match="--set gamma is given twice"):
        read_pairs("--set", ["gamma=0.9", "gamma=0.8"])
