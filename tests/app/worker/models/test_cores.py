"""A second core is used if a benchmark finds it faster; resumed runs keep their number of cores."""

import pytest
import torch

from app.run_config.config import RunConfig
from app.run_config.request import RunRequest
from app.worker.envs.vectorized.pipeline import make_training_envs
from app.worker.models import cores
from app.worker.models.models import build_model
from app.worker.training.checkpoint import restore, take_checkpoint


@pytest.fixture(autouse=True)
def one_core_afterwards() -> None:
    torch.set_num_threads(1)


def image_config() -> RunConfig:
    values = {"n_steps": 8, "batch_size": 8, "n_epochs": 1}
    return RunConfig.from_request(
        RunRequest(env_id="CarRacing-v3", algorithm="PPO", n_envs=1, seed=1, hyperparameters=values)
    )


def fake_benchmark(monkeypatch: pytest.MonkeyPatch, seconds: dict[int, float]) -> None:
    """Replace the benchmark's times, which depend on the machine."""
    monkeypatch.setattr(cores.os, "sched_getaffinity", lambda _: {0, 1})

    def fake_seconds(_: object, threads: int) -> float:
        torch.set_num_threads(threads)
        return seconds[threads]

    monkeypatch.setattr(cores, "_seconds", fake_seconds)


@pytest.mark.parametrize(("two_cores", "threads"), [(0.6, 2), (0.95, 1)])
def test_more_cores_are_used_if_they_are_clearly_faster(
    monkeypatch: pytest.MonkeyPatch, two_cores: float, threads: int
) -> None:
    settings = image_config()
    model = build_model(settings.setup(), make_training_envs(settings.setup(), 1), seed=1)
    fake_benchmark(monkeypatch, {1: 1.0, 2: two_cores})

    message = cores.choose_threads(model)

    assert torch.get_num_threads() == threads
    assert message is not None
    assert message.startswith(f"Training on {threads} of 2 cores")


def test_the_benchmark_changes_neither_the_policy_nor_the_random_state() -> None:
    settings = image_config()
    model = build_model(settings.setup(), make_training_envs(settings.setup(), 1), seed=1)
    before = {name: value.clone() for name, value in model.policy.state_dict().items()}
    random_state = torch.get_rng_state()

    cores.choose_threads(model)

    assert all(
        torch.equal(before[name], value) for name, value in model.policy.state_dict().items()
    )
    assert all(parameter.grad is None for parameter in model.policy.parameters())
    assert torch.equal(random_state, torch.get_rng_state())


def test_a_policy_without_images_learns_on_one_core(monkeypatch: pytest.MonkeyPatch) -> None:
    settings = RunConfig.from_request(RunRequest(env_id="CartPole-v1", algorithm="PPO", seed=1))
    model = build_model(settings.setup(), make_training_envs(settings.setup(), 1), seed=1)
    fake_benchmark(monkeypatch, {1: 1.0, 2: 0.1})

    assert cores.choose_threads(model) is None
    assert torch.get_num_threads() == 1


def test_a_resumed_run_uses_the_same_number_of_cores() -> None:
    settings = image_config()
    envs = make_training_envs(settings.setup(), 1)
    model = build_model(settings.setup(), envs, seed=1)
    model.learn(8)
    torch.set_num_threads(2)
    packed = take_checkpoint(model, envs, {})
    torch.set_num_threads(1)

    restore(packed, settings.setup(), make_training_envs(settings.setup(), 1))

    assert torch.get_num_threads() == 2
