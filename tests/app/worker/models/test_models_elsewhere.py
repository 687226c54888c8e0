"""Saved models are Stable-Baselines3's own: it reads them where this program is not."""

import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from app.worker.models.models import save_model
from tests.app.worker.fast.test_fast_parity import ACTIONS, SEEN, twins
from tests.app.worker.training.test_changes import model_of

pytestmark = pytest.mark.slow

# One interpreter for both: to import torch takes seconds.
READS_BOTH = """
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


def test_fast_models_and_schedules_are_read_where_this_program_is_not(tmp_path: Path) -> None:
    _, fast = twins("PPO", SEEN, ACTIONS["box"], batch_size=32)
    fast.after_gradient_step = lambda length: None
    del fast.nobody
    fast.learn(256)
    fast.save(tmp_path / "fast.zip")
    changing = model_of(
        "PPO", learning_rate="1e-3 -> 0", clip_range="0: 0.2, 1: 0.1", layer_norm=True
    )
    (tmp_path / "changing.zip").write_bytes(save_model(changing))
    seen = np.array([[0.3, -0.5, 0.8]], np.float32)

    done = subprocess.run(
        [
            *(sys.executable, "-I", "-W", "error::UserWarning", "-c", READS_BOTH),
            *("fast.zip", "changing.zip", json.dumps(seen.tolist())),
        ],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
    )

    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    expected, _ = fast.predict(seen, deterministic=True)
    np.testing.assert_allclose(found["action"], expected, rtol=1e-6)
    assert found["rate"] == pytest.approx(0.0005)
    assert found["clip"] == pytest.approx(0.15)
    assert (found["ours"], found["knows the program"]) == ([], False)
