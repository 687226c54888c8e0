"""The fast SAC, TD3 and TQC do what Stable-Baselines3's do, to the rounding of float32.

Both draw the same random numbers, so whole trainings are compared: after 50 gradient steps and
more weights and actions differ by less than 1e-5, what is logged by less than 1e-5 of itself.
"""

import copy
import io
from typing import Any

import gymnasium as gym
import numpy as np
import pytest
import torch
from gymnasium.spaces import Box, Discrete
from sb3_contrib import TQC
from stable_baselines3 import SAC, TD3
from stable_baselines3.common.logger import Logger
from stable_baselines3.common.noise import NormalActionNoise

from app.worker.fast.off_policy.sac import FastSAC
from app.worker.fast.off_policy.td3 import FastTD3
from app.worker.fast.off_policy.tqc import FastTQC
from tests.app.worker.envs.walks import Walk, build_on

torch.set_num_threads(1)

ENGINES: dict[str, tuple[type[Any], type[Any]]] = {
    "SAC": (SAC, FastSAC),
    "TD3": (TD3, FastTD3),
    "TQC": (TQC, FastTQC),
}
SEEN = Box(-1, 1, (3,), np.float32)
SMALL = {
    "learning_starts": 20,
    "batch_size": 16,
    "buffer_size": 400,
    "train_freq": 2,
    "gradient_steps": 2,
    "learning_rate": 1e-3,
    "tau": 0.1,
}
ALL: dict[str, dict[str, Any]] = {
    "as they are": {},
    "as many steps, three rewards": {"gradient_steps": -1, "train_freq": 3, "n_steps": 3},
    "a schedule, a memory that forgets": {
        "learning_rate": lambda left: 1e-3 * left,
        "buffer_size": 64,
        "action_noise": NormalActionNoise(np.zeros((2, 1)), np.full((2, 1), 0.3)),
    },
    "three critics, tanh": {
        "policy_kwargs": {
            "net_arch": {"pi": [9], "qf": [6, 7]},
            "n_critics": 3,
            "activation_fn": torch.nn.Tanh,
        }
    },
    "one critic, elu": {
        "policy_kwargs": {"net_arch": [5, 6], "n_critics": 1, "activation_fn": torch.nn.ELU}
    },
    "no hidden layers": {"policy_kwargs": {"net_arch": []}},
}
SOFT: dict[str, dict[str, Any]] = {
    "fixed entropy": {"ent_coef": 0.2, "target_update_interval": 2},
    "entropy found": {"ent_coef": "auto_0.1", "target_entropy": -0.5},
}
DELAYED = {"policy_delay": 3, "target_policy_noise": 0.7, "target_noise_clip": 0.4}
MANY_GUESSES: dict[str, Any] = {
    "top_quantiles_to_drop_per_net": 5,
    "batch_size": 64,
    "policy_kwargs": {"net_arch": [8], "n_quantiles": 25, "n_critics": 3},
}
CASES = [
    *((algorithm, name, ALL[name]) for algorithm in ("SAC", "TD3") for name in ALL),
    *(("TQC", name, ALL[name]) for name in ("as they are", "no hidden layers")),
    *(("SAC", name, SOFT[name]) for name in SOFT),
    ("TD3", "a late policy, much noise", DELAYED),
    ("TQC", "many guesses, many dropped", MANY_GUESSES),
]


def build(
    kind: type[Any], seen: gym.Space[Any] = SEEN, *, scaled: bool = False, **values: Any
) -> Any:
    def make() -> Walk:
        return Walk(
            copy.deepcopy(seen), Box(np.array([[-2.0], [0.0]], np.float32), 3.0, (2, 1)), worth=1
        )

    return build_on(make, kind, scaled=scaled, **{**SMALL, **copy.deepcopy(values)})


def learn(model: Any, steps: int = 120) -> Any:
    """Train; models that are compared share both generators."""
    np.random.seed(3)
    torch.manual_seed(3)
    return model.learn(steps, log_interval=None)


def weights_of(model: Any) -> Any:
    found = [value.ravel() for value in model.policy.state_dict().values()]
    if getattr(model, "log_ent_coef", None) is not None:
        found.append(model.log_ent_coef.detach())
    return torch.cat(found)


def assert_same(plain: Any, fast: Any) -> None:
    for name in ("observations", "next_observations", "dones", "timeouts"):
        ours, theirs = (getattr(model.replay_buffer, name) for model in (fast, plain))
        np.testing.assert_array_equal(ours, theirs, err_msg=name)
    for name in ("actions", "rewards"):
        ours, theirs = (getattr(model.replay_buffer, name) for model in (fast, plain))
        np.testing.assert_allclose(ours, theirs, rtol=1e-5, atol=1e-5, err_msg=name)
    ours, theirs = ({**model.logger.name_to_value} for model in (fast, plain))
    assert set(ours) == set(theirs)
    for name in theirs:
        if name.startswith("train/"):
            assert ours[name] == pytest.approx(theirs[name], rel=1e-5, abs=1e-6), name
    assert float((weights_of(plain) - weights_of(fast)).abs().max()) < 1e-5


def assert_same_training(plain: Any, fast: Any) -> None:
    before = weights_of(plain).clone()

    for model in (plain, fast):
        learn(model)

    assert plain._n_updates >= 50
    assert float((weights_of(plain) - before).abs().max()) > 1e-3
    assert_same(plain, fast)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("algorithm", "_", "values"), CASES, ids=lambda value: value if isinstance(value, str) else ""
)
def test_training_is_the_same_with_all_options(
    algorithm: str, _: str, values: dict[str, Any]
) -> None:
    assert_same_training(*(build(kind, **values) for kind in ENGINES[algorithm]))


@pytest.mark.parametrize("algorithm", ENGINES)
def test_training_is_the_same_with_scaled_observations_and_rewards(algorithm: str) -> None:
    assert_same_training(*(build(kind, scaled=True) for kind in ENGINES[algorithm]))


@pytest.mark.parametrize("seen", [Box(-1, 1, (2, 3), np.float64), Discrete(5)], ids=str)
def test_training_is_the_same_with_other_observations(seen: gym.Space[Any]) -> None:
    assert_same_training(*(build(kind, seen) for kind in ENGINES["SAC"]))


@pytest.mark.parametrize("algorithm", ENGINES)
def test_gradients_are_the_same(algorithm: str) -> None:
    found: list[dict[str, torch.Tensor]] = []
    for kind in ENGINES[algorithm]:
        model = build(kind, learning_starts=100)
        seen: dict[str, torch.Tensor] = {}
        # SB3's critics get further gradients from the policy's loss once they have moved.
        for part in ("actor", "critic"):
            optimizer = getattr(model, part).optimizer
            optimizer.register_step_pre_hook(lambda *_, m=model, p=part, s=seen: note(m, p, s))
        learn(model, 104)
        if not seen:
            note(model, "actor", seen)
            note(model, "critic", seen)
        found.append(seen)

    plain, fast = found
    assert set(plain) == set(fast)
    for name, gradient in plain.items():
        assert torch.allclose(fast[name], gradient, rtol=1e-4, atol=1e-6), name


def note(model: Any, part: str, seen: dict[str, torch.Tensor]) -> None:
    for name, parameter in getattr(model, part).named_parameters():
        seen[f"{part}.{name}"] = parameter.grad.clone()


@pytest.mark.parametrize("algorithm", ENGINES)
def test_a_model_goes_on_in_the_other_engine(algorithm: str) -> None:
    kinds = ENGINES[algorithm]
    plain, fast = (learn(build(kind), 60) for kind in kinds)
    files = [io.BytesIO(), io.BytesIO()]
    plain.save(files[0])
    fast.save(files[1])

    now_fast, now_plain = (
        kind.load(file, device="cpu", env=model.env)
        for kind, file, model in zip(reversed(kinds), files, (plain, fast), strict=True)
    )

    for model, before in ((now_fast, plain), (now_plain, fast)):
        model.set_logger(Logger(folder=None, output_formats=[]))
        model.replay_buffer = copy.deepcopy(before.replay_buffer)
    for model in (plain, fast, now_fast, now_plain):
        np.random.seed(5)
        torch.manual_seed(5)
        model.train(gradient_steps=20, batch_size=16)
    for model in (fast, now_fast, now_plain):
        assert float((weights_of(plain) - weights_of(model)).abs().max()) < 1e-5


@pytest.mark.parametrize("algorithm", ENGINES)
def test_the_same_seed_gives_the_same_run(algorithm: str) -> None:
    fast = ENGINES[algorithm][1]

    first, second = (weights_of(learn(build(fast))) for _ in range(2))

    assert torch.equal(first, second)


def test_an_entropy_that_is_fixed_on_the_way_stays_so() -> None:
    model = learn(build(FastSAC), 60)
    model.ent_coef_optimizer = None
    model.ent_coef_tensor = torch.tensor(0.25)

    model.train(gradient_steps=2, batch_size=16)

    assert model.logger.name_to_value["train/ent_coef"] == 0.25
    assert "log_ent_coef" not in model._get_torch_save_params()[1]
