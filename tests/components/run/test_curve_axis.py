"""How far the axis of a chart reaches, as its script computes it."""

import json
import shutil
import subprocess
from collections.abc import Sequence
from pathlib import Path

import pytest

_SCRIPT = Path(__file__).parents[3] / "components" / "run" / "curves.js"
_NODE = shutil.which("node")

pytestmark = pytest.mark.skipif(_NODE is None, reason="needs node")


def room_around(values: Sequence[float], tmp_path: Path) -> dict[str, float]:
    module = tmp_path / "asked.mjs"
    asked = f"console.log(JSON.stringify(roomAround({json.dumps(values)})))"
    module.write_text(f"{_SCRIPT.read_text()}\n{asked}")
    said = subprocess.run([str(_NODE), str(module)], capture_output=True, text=True, check=True)
    found: dict[str, float] = json.loads(said.stdout)
    return found


def test_a_constant_with_noise_of_rounding_has_room_around_it(tmp_path: Path) -> None:
    room = room_around([3e-4, 3.0000000000000003e-4, 2.9999999999999997e-4], tmp_path)

    assert room["min"] == pytest.approx(2.7e-4)
    assert room["max"] == pytest.approx(3.3e-4)


def test_a_negative_constant_has_room_on_both_sides(tmp_path: Path) -> None:
    room = room_around([-200.0, -200.0], tmp_path)

    assert room["min"] == pytest.approx(-220.0)
    assert room["max"] == pytest.approx(-180.0)


@pytest.mark.parametrize("values", [[1.0, 1.001], [0.0, 0.0], []])
def test_other_values_are_left_to_the_chart(values: list[float], tmp_path: Path) -> None:
    assert room_around(values, tmp_path) == {}
