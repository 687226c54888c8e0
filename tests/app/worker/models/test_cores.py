"""A second core is used where a try says so, and a run that goes on uses as many as before."""

import pytest
import torch

from app.run_config.config import RunConfig, RunRequest
from app.worker.envs.vectorized.pipeline import make_training_envs
from app.worker.models import cores
from app.worker.models.models import build_model
from app.worker.training.checkpoint import restore, take_checkpoint


@pytest.fixture(autouse=True)
def one_core_afterwards() -> None:
    torch.set_num_threads(1)


def of_pictures() -> RunConfig:
    values = {"n_steps": 8, "batch_size": 8, "n_epochs": 1}
    return RunConfig.from_request(
        RunRequest(env_id="CarRacing-v3", algorithm="PPO", n_envs=1, seed=1, hyperparameters=values)
    )


def try_out(monkeypatch: pytest.MonkeyPatch, seconds: dict[int, float]) -> None:
    """Let the try find these times; how long it really takes depends on the machine."""
    monkeypatch.setattr(cores.os, "sched_getaffinity", lambda _: {0, 1})

    def found(_: object, threads: int) -> float:
        torch.set_num_threads(threads)
        return seconds[threads]

    monkeypatch.setattr(cores, "_seconds", found)


@pytest.mark.parametrize(("together", "threads"), [(0.6, 2), (0.95, 1)])
def test_more_cores_are_used_where_that_is_clearly_faster(
    monkeypatch: pytest.MonkeyPatch, together: float, threads: int
) -> None:
    settings = of_pictures()
    model = build_model(settings.setup(), make_training_envs(settings.setup(), 1), seed=1)
    try_out(monkeypatch, {1: 1.0, 2: together})

    said = cores.settle_threads(model)

    assert torch.get_num_threads() == threads
    assert (said is not None) == (threads == 2)


def test_the_try_itself_leaves_the_policy_and_its_random_numbers_alone() -> None:
    settings = of_pictures()
    model = build_model(settings.setup(), make_training_envs(settings.setup(), 1), seed=1)
    before = {name: value.clone() for name, value in model.policy.state_dict().items()}
    drawn = torch.get_rng_state()

    cores.settle_threads(model)

    assert all(
        torch.equal(before[name], value) for name, value in model.policy.state_dict().items()
    )
    assert all(parameter.grad is None for parameter in model.policy.parameters())
    assert torch.equal(drawn, torch.get_rng_state())


def test_a_network_that_sees_numbers_learns_on_one_core(monkeypatch: pytest.MonkeyPatch) -> None:
    settings = RunConfig.from_request(RunRequest(env_id="CartPole-v1", algorithm="PPO", seed=1))
    model = build_model(settings.setup(), make_training_envs(settings.setup(), 1), seed=1)
    try_out(monkeypatch, {1: 1.0, 2: 0.1})

    assert cores.settle_threads(model) is None
    assert torch.get_num_threads() == 1


def test_a_run_goes_on_with_as_many_cores_as_it_had() -> None:
    settings = of_pictures()
    envs = make_training_envs(settings.setup(), 1)
    model = build_model(settings.setup(), envs, seed=1)
    model.learn(8)
    torch.set_num_threads(2)
    packed = take_checkpoint(model, envs, {})
    torch.set_num_threads(1)

    restore(packed, settings.setup(), make_training_envs(settings.setup(), 1))

    assert torch.get_num_threads() == 2
