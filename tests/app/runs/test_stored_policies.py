from pathlib import Path

import pytest

from app.core.errors import InputError
from app.runs.stored_policies import Policy, PolicyAddress, read_policy
from storage.files.run_folder import RunFolder
from storage.files.snapshot_files import SnapshotFiles
from tests.lab_server import LabServer


@pytest.mark.parametrize(
    ("text", "run_id", "which"),
    [
        ("abc", "abc", None),
        ("abc@", "abc", None),
        ("abc@newest", "abc", None),
        ("abc@best", "abc", "best"),
        ("abc@2048", "abc", 2_048),
        ("abc@soon", "abc", "soon"),
        ("abc@²", "abc", "²"),
    ],
)
def test_an_address_is_parsed_into_a_run_and_one_of_its_policies(
    text: str, run_id: str, which: int | str | None
) -> None:
    assert PolicyAddress.parse(text) == PolicyAddress(run_id, which)


@pytest.fixture
def folder(tmp_path: Path) -> RunFolder:
    folder = RunFolder(tmp_path / "run")
    folder.create({})
    return folder


def test_every_policy_of_a_run_is_found_at_its_address(folder: RunFolder) -> None:
    assert read_policy(folder, None, field="checkpoint") is None
    folder.save_checkpoint(b"zip", {"timesteps": 100, "lines": 1}, policy=b"checkpoint", keep=3)
    SnapshotFiles(folder.snapshots_path).save(150, b"before a change")
    folder.best_policy.write_bytes(b"best")
    folder.save_step(folder.best_policy, 120)

    policies = {which: read_policy(folder, which, field="x") for which in (None, 100, 150, "best")}

    assert policies == {
        None: Policy(b"checkpoint", 100),
        100: Policy(b"checkpoint", 100),
        150: Policy(b"before a change", 150),
        "best": Policy(b"best", 120),
    }


@pytest.mark.parametrize(
    ("which", "sentence"),
    [
        (
            7,
            r"The policy to start with must be best or a step .* \(100\), got 7\.",
        ),
        ("soon", r"got 'soon'\."),
        ("best", "Run run has no best policy: .* It has policies of these steps: 100"),
    ],
)
def test_a_missing_policy_is_refused_and_the_error_lists_the_available_ones(
    folder: RunFolder, which: int | str, sentence: str
) -> None:
    folder.save_checkpoint(b"zip", {"timesteps": 100, "lines": 1}, policy=b"policy", keep=3)

    with pytest.raises(InputError, match=sentence) as refused:
        read_policy(folder, which, field="init_from")

    assert refused.value.field == "init_from"


@pytest.mark.slow
def test_a_run_can_start_with_the_best_policy_of_another(server: LabServer) -> None:
    small = {"n_steps": 64, "net_arch": [8]}
    first = server.train(total_timesteps=512, hyperparameters=small, evaluate_every=128)
    assert "best.pt" in {path.name for path in (server.folder / first["id"]).iterdir()}

    second = server.train(
        total_timesteps=128, hyperparameters=small, init_from=f"{first['id']}@best"
    )

    assert second["status"] == "completed", second["error"]
    assert second["parent"] == first["id"]
    begun = (server.folder / second["id"] / "init_from.bin").read_bytes()
    assert begun == (server.folder / first["id"] / "best.pt").read_bytes()
