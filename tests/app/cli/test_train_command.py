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
from app.protocol import selection_seed
from storage.records.runs import Progress, RunRecord, RunStatus
from tests.app.cli.conftest import SMALL, TrainedLab, run_here
from tests.lab_server import SLEEPING_REWARD, end, start_main, wait_until
from tests.stored_configs import stored_config

pytestmark = pytest.mark.slow

ENDLESS = ("CartPole-v1", "--timesteps", "1e8", "--set", "n_steps=64", "--set", "net_arch=8")


Start = Callable[..., subprocess.Popen[str]]


@pytest.fixture
def start(tmp_path: Path) -> Iterator[Start]:
    """Start commands on the folder of this test; end them after it."""
    started: list[subprocess.Popen[str]] = []

    def start_one(*flags: str) -> subprocess.Popen[str]:
        started.append(start_main(*flags, RL_LAB_RUNS=str(tmp_path)))
        return started[-1]

    yield start_one
    for process in started:
        end(process)


def only_run(folder: Path) -> Path:
    (run,) = folder.glob("?" * 32)
    return run


def wait_for_metrics(folder: Path, name: str) -> None:
    def is_there() -> bool:
        return any(f'"{name}"' in path.read_text() for path in folder.glob("*/metrics.jsonl"))

    wait_until(is_there, within=120)


def test_training_ends_with_a_summary_of_each_seed_and_of_all_together(trained: TrainedLab) -> None:
    assert trained.code == 0, trained.output
    seven, three = trained.run_ids
    assert re.search(rf"^{seven} +7  completed  2,0\d\d  ", trained.output, re.M)
    assert re.search(rf"^{three} +3  completed  2,0\d\d  ", trained.output, re.M)
    assert re.search(
        r"Together: mean score \(training mean\) [\d.]+ ± [\d.]+ over 2 of 2 seeds", trained.output
    )


def test_training_shows_its_progress_in_plain_lines_without_a_terminal(
    tmp_path: Path,
) -> None:
    slow = tmp_path / "slow.py"
    slow.write_text(SLEEPING_REWARD.format(seconds=0.001))
    flags = ("train", "CartPole-v1", "--seed", "7", "--reward", str(slow), *SMALL)

    code, output = run_here(*flags, RL_LAB_RUNS=str(tmp_path / "runs"))

    assert code == 0, output
    assert re.search(r"^ *\d+%  seed 7  running, [\d,]+ of 2,000 steps", output, re.M)
    assert "steps/s" in output
    assert "\x1b" not in output
    assert "\r" not in output


def test_a_progress_bar_fits_on_a_common_terminal(capsys: pytest.CaptureFixture[str]) -> None:
    now = datetime.now(UTC)
    run = RunRecord(
        id="0" * 32,
        name="x",
        env_id="CartPole-v1",
        algorithm="PPO",
        status=RunStatus.RUNNING,
        config=stored_config(seed=42, total_timesteps=20_000),
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


def test_a_run_is_trained_with_its_flags(trained: TrainedLab) -> None:
    config = json.loads((trained.folder / trained.run_ids[0] / "config.json").read_text())

    assert config["seed"] == 7
    assert config["n_envs"] == 2
    assert config["total_timesteps"] == 2_000
    assert config["hyperparameters"]["net_arch"] == [8]
    assert config["wrappers"]["normalize_observation"] is True
    assert config["wrappers"]["action_noise"] == 0.1


def test_a_run_can_start_from_the_policy_of_another_given_by_an_id_prefix(
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


def test_ctrl_c_stops_training_and_saves_the_model_and_the_best_one(
    tmp_path: Path, start: Start
) -> None:
    wrappers = ("--wrapper", "normalize_observation=true", "--evaluate-every", "500")
    process = start("train", *ENDLESS, *wrappers)
    wait_for_metrics(tmp_path, "eval_reward")
    process.send_signal(signal.SIGINT)
    output = process.communicate(timeout=60)[0]

    assert process.returncode == 130
    assert "Stopping; the model is saved. Press Ctrl-C again to exit at once." in output
    run = only_run(tmp_path)
    assert re.search(rf"^{run.name} +\d+  stopped ", output, re.M)
    PPO.load(run / "model.zip", device="cpu")

    lines = map(json.loads, (run / "metrics.jsonl").read_text().splitlines())
    evaluated = {line["eval_reward"]: line for line in lines if "eval_reward" in line}
    best = max(evaluated)
    # The seeds of the periodic evaluation that selected it.
    seed = selection_seed(evaluated[best]["eval_timesteps"], 20)
    options = ("--checkpoint", "best", "--episodes", "20", "--seed", str(seed))
    code, output = run_here("evaluate", "latest", *options, RL_LAB_RUNS=str(tmp_path))
    assert code == 0, output
    assert f"mean return   {best:,.2f}" in output


def test_a_second_ctrl_c_exits_at_once_and_the_next_command_lists_the_run(
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
    assert "Exited at once." in output
    listed = run_here("runs", RL_LAB_RUNS=str(tmp_path))[1]
    assert only_run(tmp_path).name in listed


def test_a_run_that_fails_is_reported_with_its_reason_and_exit_code_1(tmp_path: Path) -> None:
    code, output = run_here(
        *("train", "CartPole-v1", "--wrapper", 'randomize={"moon": [1, 2]}'),
        RL_LAB_RUNS=str(tmp_path),
    )

    assert code == 1, output
    assert re.search(r"^Run \w{8} failed: .*moon", output, re.M)


def test_runs_of_an_earlier_command_stay_queued(tmp_path: Path, start: Start) -> None:
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
