"""Saved models are plain Stable-Baselines3 files, which can be read without this program."""

import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from app.worker.models.models import save_model
from tests.app.worker.fast.engines import both_engines
from tests.app.worker.training.test_changes import model_of

pytestmark = pytest.mark.slow

# One process for both models: importing torch takes seconds.
SCRIPT = """
import json, sys
import numpy as np
from stable_baselines3 import PPO
fast, changed = (PPO.load(path) for path in sys.argv[1:3])
action, _ = fast.predict(np.array(json.loads(sys.argv[3]), np.float32), deterministic=True)
print(json.dumps({
    "action": action.tolist(),
    "ours": sorted({"_network", "after_gradient_step"} & set(vars(fast))),
    "rate": changed.lr_schedule(0.5),
    "clip": changed.clip_range(0.5),
    "knows the program": "app" in sys.modules,
}))
"""


def test_fast_models_and_schedules_can_be_read_without_this_program(tmp_path: Path) -> None:
    _, fast = both_engines("PPO", actions="box", batch_size=32)
    fast.after_gradient_step = lambda norm: None
    del fast.callback
    fast.learn(256)
    fast.save(tmp_path / "fast.zip")
    changing = model_of(
        "PPO", learning_rate="1e-3 -> 0", clip_range="0: 0.2, 1: 0.1", layer_norm=True
    )
    (tmp_path / "changing.zip").write_bytes(save_model(changing))
    observation = np.array([[0.3, -0.5, 0.8]], np.float32)

    process = subprocess.run(
        [
            *(sys.executable, "-I", "-W", "error::UserWarning", "-c", SCRIPT),
            *("fast.zip", "changing.zip", json.dumps(observation.tolist())),
        ],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
    )

    assert process.returncode == 0, process.stderr
    result = json.loads(process.stdout)
    expected, _ = fast.predict(observation, deterministic=True)
    np.testing.assert_allclose(result["action"], expected, rtol=1e-6)
    assert result["rate"] == pytest.approx(0.0005)
    assert result["clip"] == pytest.approx(0.15)
    assert (result["ours"], result["knows the program"]) == ([], False)
