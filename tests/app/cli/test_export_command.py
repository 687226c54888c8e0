import hashlib
import json
import zipfile
from pathlib import Path

import pytest

from tests.app.cli.conftest import TrainedLab

pytestmark = pytest.mark.slow


def test_a_bundle_holds_the_run_and_a_manifest_with_its_hashes(
    trained: TrainedLab, tmp_path: Path
) -> None:
    run_id, bundle = trained.run_ids[1], tmp_path / "bundle.zip"

    code, output = trained.command("export", run_id[:8], "--to", str(bundle))

    assert code == 0, output
    assert f"Wrote {bundle} (" in output
    with zipfile.ZipFile(bundle) as archive:
        files = {name: archive.read(name) for name in archive.namelist()}
    manifest = json.loads(files.pop("manifest.json"))
    expected = {"config.json", "metrics.jsonl", "model.zip", "policy.pt", "vecnormalize.pkl"}
    assert expected | {"events.json"} <= set(files)
    assert {Path(name).parent.name for name in files} == {"", "checkpoints"}
    assert {file["name"]: file["sha256"] for file in manifest["files"]} == {
        name: hashlib.sha256(content).hexdigest() for name, content in files.items()
    }
    assert manifest["schema"] == 1
    assert manifest["run"]["id"] == run_id
    assert {"python", "rl-lab", "torch", "gymnasium"} <= set(manifest["versions"])
    assert json.loads(files["events.json"])[0]["event_type"] == "created"
    assert list(tmp_path.iterdir()) == [bundle]


def test_a_bundle_replaces_a_file_only_with_force(trained: TrainedLab, tmp_path: Path) -> None:
    bundle = tmp_path / "bundle.zip"
    bundle.write_text("precious")

    code, output = trained.command("export", "latest", "--to", str(bundle))
    assert code == 2
    assert "exists. Choose another name, or replace it with --force." in output
    assert bundle.read_text() == "precious"

    code, output = trained.command("export", "latest", "--to", str(bundle), "--force")
    assert code == 0
    assert zipfile.is_zipfile(bundle)


def test_a_bundle_needs_an_existing_folder(trained: TrainedLab, tmp_path: Path) -> None:
    for target, sentence in ((tmp_path, "is a folder"), (tmp_path / "a" / "b", "doesn't exist")):
        code, output = trained.command("export", "latest", "--to", str(target))
        assert code == 2
        assert sentence in output
