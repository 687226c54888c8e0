"""Properties of the fast engine's off-policy algorithms other than parity with SB3."""

import numpy as np
import torch

from tests.app.worker.fast.engines import both_engines, learn


def test_log_interval_is_respected() -> None:
    counts = []
    for model in both_engines("DQN"):
        dumps: list[int] = []
        model.dump_logs = lambda dumps=dumps: dumps.append(1)
        learn(model, 200, log_interval=3)
        counts.append(len(dumps))

    assert counts[0] == counts[1] > 3


def test_denormal_moments_of_dead_units_become_zero_and_denormals_are_kept_elsewhere() -> None:
    _, model = both_engines("DQN")
    learn(model, 100)
    dead = model.q_net.q_net[0].weight
    with torch.no_grad():
        model.q_net.q_net[0].bias.fill_(-100.0)
    moments = model.policy.optimizer.state[dead]["exp_avg"]
    moments.fill_(2e-38)

    model.train(gradient_steps=50, batch_size=16)

    assert torch.count_nonzero(moments) == 0
    assert np.float32(2e-38) * np.float32(0.1) > 0


def test_a_fixed_entropy_coefficient_stays_fixed() -> None:
    _, model = both_engines("SAC")
    learn(model, 60)
    model.ent_coef_optimizer = None
    model.ent_coef_tensor = torch.tensor(0.25)

    model.train(gradient_steps=2, batch_size=16)

    assert model.logger.name_to_value["train/ent_coef"] == 0.25
    assert "log_ent_coef" not in model._get_torch_save_params()[1]
