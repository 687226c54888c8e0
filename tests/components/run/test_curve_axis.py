"""The range of a chart's y axis, as its script computes it."""

import json
import shutil
import subprocess
from collections.abc import Sequence
from pathlib import Path

import pytest

_SCRIPT = Path(__file__).parents[3] / "components" / "run" / "curves.js"
_NODE = shutil.which("node")

pytestmark = pytest.mark.skipif(_NODE is None, reason="needs node")


def padded_range(values: Sequence[float], tmp_path: Path) -> dict[str, float]:
    module = tmp_path / "script.mjs"
    script = f"console.log(JSON.stringify(paddedRange({json.dumps(values)})))"
    module.write_text(f"{_SCRIPT.read_text()}\n{script}")
    completed = subprocess.run(
        [str(_NODE), str(module)], capture_output=True, text=True, check=True
    )
    padded: dict[str, float] = json.loads(completed.stdout)
    return padded


def test_a_constant_with_rounding_noise_gets_a_padded_range(tmp_path: Path) -> None:
    padded = padded_range([3e-4, 3.0000000000000003e-4, 2.9999999999999997e-4], tmp_path)

    assert padded["min"] == pytest.approx(2.7e-4)
    assert padded["max"] == pytest.approx(3.3e-4)


def test_a_negative_constant_is_padded_on_both_sides(tmp_path: Path) -> None:
    padded = padded_range([-200.0, -200.0], tmp_path)

    assert padded["min"] == pytest.approx(-220.0)
    assert padded["max"] == pytest.approx(-180.0)


@pytest.mark.parametrize("values", [[1.0, 1.001], [0.0, 0.0], []])
def test_other_values_get_no_padded_range(values: list[float], tmp_path: Path) -> None:
    assert padded_range(values, tmp_path) == {}
