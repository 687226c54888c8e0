import subprocess
import sys

import pytest

from tests.lab_server import ROOT

pytestmark = pytest.mark.slow

TRAINING = """
import inspect
import sys
from app.worker.compiler import import_torch

import_torch()

import torch
from stable_baselines3 import PPO

def train():
    torch.manual_seed(0)
    model = PPO("MlpPolicy", "CartPole-v1", n_steps=64, batch_size=64, seed=1)
    return model.learn(128).policy.state_dict()

spared = train()
inspect.getmodule(train)
inspect.getframeinfo(sys._getframe())
print("torch._dynamo.eval_frame" in sys.modules)

torch._dynamo.reset()
print("torch._dynamo.eval_frame" in sys.modules)
print(hasattr(sys.modules["torch._meta_registrations"], "register_meta"))

usual = train()
print(all(torch.equal(spared[name], usual[name]) for name in usual))
"""


def test_training_does_not_import_the_compiler_and_it_can_be_imported_later() -> None:
    found = subprocess.run(
        [sys.executable, "-c", TRAINING], cwd=ROOT, capture_output=True, text=True, check=True
    )

    assert found.stdout.split("\n") == ["False", "True", "True", "True", ""]
