import json
import re
import signal
import subprocess
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from pathlib import Path

import pytest
from stable_baselines3 import PPO

from app.cli.progress import Bars
from storage.records.runs import Progress, RunRecord, RunStatus
from tests.app.cli.conftest import TrainedLab, run_here
from tests.lab_server import end, start_main, wait_until

pytestmark = pytest.mark.slow

ENDLESS = ("CartPole-v1", "--timesteps", "1e8", "--set", "n_steps=64", "--set", "net_arch=8")


Start = Callable[..., subprocess.Popen[str]]


@pytest.fixture
def start(tmp_path: Path) -> Iterator[Start]:
    """Start commands on the folder of this test; they end with it."""
    started: list[subprocess.Popen[str]] = []

    def start_one(*flags: str) -> subprocess.Popen[str]:
        started.append(start_main(*flags, RL_LAB_RUNS=str(tmp_path)))
        return started[-1]

    yield start_one
    for process in started:
        end(process)


def only_run(folder: Path) -> Path:
    (found,) = folder.glob("?" * 32)
    return found


def wait_for_metrics(folder: Path, name: str) -> None:
    def is_there() -> bool:
        return any(f'"{name}"' in path.read_text() for path in folder.glob("*/metrics.jsonl"))

    wait_until(is_there, within=120)


def test_a_training_ends_with_a_summary_of_each_seed_and_all_together(trained: TrainedLab) -> None:
    assert trained.code == 0, trained.output
    seven, three = trained.run_ids
    assert re.search(rf"^{seven} +7  completed  2,0\d\d  ", trained.output, re.M)
    assert re.search(rf"^{three} +3  completed  2,0\d\d  ", trained.output, re.M)
    assert re.search(r"Together: mean reward [\d.]+ ± [\d.]+ over 2 of 2 seeds", trained.output)


def test_a_training_tells_how_far_it_is_in_plain_lines_where_there_is_no_terminal(
    trained: TrainedLab,
) -> None:
    assert re.search(r"^ *\d+%  seed 7  running, [\d,]+ of 2,000 steps", trained.output, re.M)
    assert "steps/s" in trained.output
    assert "\x1b" not in trained.output
    assert "\r" not in trained.output


def test_a_bar_fits_on_a_usual_terminal(capsys: pytest.CaptureFixture[str]) -> None:
    now = datetime.now(UTC)
    run = RunRecord(
        id="0" * 32,
        name="x",
        env_id="CartPole-v1",
        algorithm="PPO",
        status=RunStatus.RUNNING,
        config={"seed": 42, "total_timesteps": 20_000},
        created_at=now,
        updated_at=now,
        progress=Progress(timesteps=5_000, elapsed_s=10.0),
        latest={"fps": 512.3, "mean_reward": 123.45},
    )
    bars = Bars()

    bars.show([run], "")
    bars.show([run], "Stopping.")

    line = "[##........]  25%  seed 42  5k/20k  reward 123.5  512/s  0:30 left\n"
    assert capsys.readouterr().out == f"{line}\x1b[1A\x1b[J{line}Stopping.\n"


def test_a_run_is_trained_as_its_flags_say(trained: TrainedLab) -> None:
    config = json.loads((trained.folder / trained.run_ids[0] / "config.json").read_text())

    assert config["seed"] == 7
    assert config["n_envs"] == 2
    assert config["total_timesteps"] == 2_000
    assert config["hyperparameters"]["net_arch"] == [8]
    assert config["wrappers"]["normalize_observation"] is True
    assert config["wrappers"]["action_noise"] == 0.1


def test_a_run_can_begin_with_the_policy_of_another_by_the_start_of_its_id(
    trained: TrainedLab,
) -> None:
    same = ("--set", "net_arch=8", "--set", "n_steps=64", "--wrapper", "normalize_observation=true")
    first = trained.run_ids[0]

    code, output = trained.command(
        *("train", "CartPole-v1", "--timesteps", "128", "--n-envs", "2", *same),
        *("--init-from", first[:10], "--name", "Second life"),
    )

    assert code == 0, output
    run_id = output.splitlines()[0].rpartition(" ")[2]
    assert output.startswith("Second life, seed ")
    config = json.loads((trained.folder / run_id / "config.json").read_text())
    assert config["init_from"] == first


def test_ctrl_c_stops_a_training_and_keeps_its_model_and_the_best_one(
    tmp_path: Path, start: Start
) -> None:
    wrappers = ("--wrapper", "normalize_observation=true", "--evaluate-every", "500")
    process = start("train", *ENDLESS, *wrappers)
    wait_for_metrics(tmp_path, "eval_reward")
    process.send_signal(signal.SIGINT)
    output = process.communicate(timeout=60)[0]

    assert process.returncode == 130
    assert "Stopping; the model is kept. Ctrl-C again ends at once." in output
    run = only_run(tmp_path)
    assert re.search(rf"^{run.name} +\d+  stopped ", output, re.M)
    PPO.load(run / "model.zip", device="cpu")

    code, told = run_here(
        "evaluate", "latest", "--checkpoint", "best", "--episodes", "10", RL_LAB_RUNS=str(tmp_path)
    )
    assert code == 0, told
    lines = map(json.loads, (run / "metrics.jsonl").read_text().splitlines())
    best = max(line["eval_reward"] for line in lines if "eval_reward" in line)
    assert f"mean return   {best:,.2f}" in told


def test_a_second_ctrl_c_ends_at_once_and_the_next_command_says_what_happened(
    tmp_path: Path, start: Start
) -> None:
    process = start("train", *ENDLESS)
    wait_for_metrics(tmp_path, "reward")
    process.send_signal(signal.SIGSTOP)
    process.send_signal(signal.SIGINT)
    process.send_signal(signal.SIGTERM)
    process.send_signal(signal.SIGCONT)
    output = process.communicate(timeout=60)[0]

    assert process.returncode in {130, 143}
    assert "Ended at once." in output
    listed = run_here("runs", RL_LAB_RUNS=str(tmp_path))[1]
    assert only_run(tmp_path).name in listed


def test_a_run_that_fails_is_named_with_its_reason_and_exit_code_1(tmp_path: Path) -> None:
    code, output = run_here(
        *("train", "CartPole-v1", "--wrapper", 'randomize={"moon": [1, 2]}'),
        RL_LAB_RUNS=str(tmp_path),
    )

    assert code == 1, output
    assert re.search(r"^Run \w{8} failed: .*moon", output, re.M)


def test_what_waited_before_keeps_waiting(tmp_path: Path, start: Start) -> None:
    process = start("train", *ENDLESS, "--seeds", "2", "--workers", "1")
    wait_for_metrics(tmp_path, "reward")
    process.kill()
    process.communicate()

    code, output = run_here(
        *("train", "CartPole-v1", "--timesteps", "64", "--workers", "1"),
        *("--set", "n_steps=64", "--n-envs", "1", "--runs-dir", str(tmp_path)),
    )

    assert code == 0, output
    listed = run_here("runs", "--json", RL_LAB_RUNS=str(tmp_path))[1]
    statuses = sorted(run["status"] for run in json.loads(listed))
    assert statuses == ["completed", "interrupted", "queued"]


def test_a_folder_that_another_lab_uses_is_refused(tmp_path: Path, start: Start) -> None:
    start("train", *ENDLESS)
    wait_for_metrics(tmp_path, "reward")
    for command in (("train", "CartPole-v1"), ("evaluate", "latest")):
        code, output = run_here(*command, RL_LAB_RUNS=str(tmp_path))
        assert code == 2
        assert "is in use by another server" in output
        assert len(output.splitlines()) == 1

    code, output = run_here("runs", "--json", RL_LAB_RUNS=str(tmp_path))
    assert code == 0
    assert json.loads(output)[0]["status"] == "running"
    code, output = run_here(
        "export", "latest", "--to", str(tmp_path / "b.zip"), RL_LAB_RUNS=str(tmp_path)
    )
    assert code == 0, output
