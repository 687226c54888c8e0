"""EnvPool's environments, if installed, are equivalent to Gymnasium's for training."""

from importlib.util import find_spec
from itertools import pairwise

import numpy as np
import pytest
from stable_baselines3.common.vec_env import VecEnv

from app.catalog.environments.envpool import ENVPOOL, why_no_envpool
from app.core.errors import InputError
from app.protocol.wrappers import Wrappers
from app.run_config.config import RunConfig
from app.run_config.request import RunRequest
from app.worker.envs.vectorized.pipeline import (
    make_evaluation_envs,
    make_training_envs,
    single_env,
)
from app.worker.models.models import build_model
from app.worker.training.checkpoint import restore, take_checkpoint

is_installed = pytest.mark.skipif(
    find_spec("envpool") is None, reason=f"EnvPool isn't installed. {ENVPOOL.command} adds it."
)


def config(env_id: str, simulator: str = "envpool", **options: object) -> RunConfig:
    request = {"env_id": env_id, "algorithm": "PPO", "seed": 5, "n_envs": 4, **options}
    return RunConfig.from_request(
        RunRequest.model_validate({**request, "wrappers": {"simulator": simulator}})
    )


def play(envs: VecEnv, steps: int) -> tuple[list[float], list[int]]:
    """Play random actions; return each episode's return and length."""
    envs.seed(3)
    envs.reset()
    envs.action_space.seed(3)
    returns, lengths = [], []
    for _ in range(steps):
        actions = np.array([envs.action_space.sample() for _ in range(envs.num_envs)])
        _, _, _, infos = envs.step(actions)
        for info in infos:
            if episode := info.get("episode"):
                returns.append(episode["r"])
                lengths.append(episode["l"])
    return returns, lengths


@is_installed
@pytest.mark.slow
@pytest.mark.parametrize(
    ("env_id", "steps"),
    [
        ("CartPole-v1", 3_000),
        ("Acrobot-v1", 4_000),
        ("MountainCar-v0", 1_000),
        ("MountainCarContinuous-v0", 3_000),
        ("Pendulum-v1", 3_000),
        ("LunarLander-v3", 6_000),
        ("BipedalWalker-v3", 4_000),
        ("BipedalWalkerHardcore-v3", 4_000),
    ],
)
def test_random_policies_have_the_same_returns_in_both(env_id: str, steps: int) -> None:
    envpool = make_training_envs(config(env_id).setup(), 8)
    reference = make_training_envs(config(env_id, "gymnasium").setup(), 8)
    assert envpool.observation_space == reference.observation_space
    assert envpool.action_space == reference.action_space

    (returns, lengths), (usual_returns, usual_lengths) = (
        play(envpool, steps),
        play(reference, steps),
    )

    for ours, theirs in ((returns, usual_returns), (lengths, usual_lengths)):
        spread = np.hypot(np.std(ours) / len(ours) ** 0.5, np.std(theirs) / len(theirs) ** 0.5)
        assert abs(np.mean(ours) - np.mean(theirs)) <= 4 * spread + 1e-9, (ours[:5], theirs[:5])


@is_installed
def test_an_episode_ends_with_its_terminal_observation_and_its_return() -> None:
    envs = make_training_envs(config("CartPole-v1").setup(), 2)
    envs.seed(1)
    envs.reset()
    total, seen = 0.0, []
    for _ in range(200):
        observed, rewards, dones, infos = envs.step(np.array([1, 1]))
        total += float(rewards[0])
        seen.append(observed[0])
        if dones[0]:
            break

    last = infos[0]["terminal_observation"]
    assert infos[0]["episode"]["r"] == total == infos[0]["episode"]["l"]
    assert abs(last[2]) > 0.2 > abs(observed[0][2])
    assert not any(np.array_equal(one, other) for one, other in pairwise(seen))


@is_installed
def test_the_same_seed_gives_the_same_episodes_on_any_number_of_cores() -> None:
    one, other = (make_training_envs(config("LunarLander-v3").setup(), 4) for _ in range(2))
    other.unwrapped.threads = 3 - other.unwrapped.threads  # type: ignore[attr-defined]

    assert play(one, 400) == play(other, 400)


@is_installed
def test_a_run_trains_and_resumes_on_envpool_and_is_evaluated_on_gymnasium() -> None:
    settings = config("CartPole-v1", hyperparameters={"n_steps": 32, "batch_size": 32})
    envs = make_training_envs(settings.setup(), 4)
    model = build_model(settings.setup(), envs, seed=5)
    model.learn(256)
    packed = take_checkpoint(model, envs, {})

    again = restore(packed, settings.setup(), make_training_envs(settings.setup(), 4))
    again.model.learn(256, reset_num_timesteps=False)

    assert again.model.num_timesteps == 512
    assert again.notes == ["4 environments could not be restored and started a new episode."]
    evaluated = single_env(make_evaluation_envs(settings.setup()))
    assert type(evaluated.unwrapped).__module__.startswith("gymnasium.")


@pytest.mark.parametrize(
    ("env_id", "changed", "options", "masks_actions", "reason"),
    [
        ("FrozenLake-v1", {}, {}, False, "FrozenLake-v1 is not one of"),
        ("LunarLander-v3", {"gravity": -3.0}, {}, False, "can't change gravity"),
        ("CartPole-v1", {}, {"frame_skip": 2}, False, "frame_skip must wrap each environment"),
        ("CartPole-v1", {}, {}, True, "which actions are allowed"),
    ],
)
def test_unsupported_options_are_rejected_with_the_reason(
    env_id: str,
    changed: dict[str, float],
    options: dict[str, int],
    reason: str,
    *,
    masks_actions: bool,
) -> None:
    wrappers = Wrappers(**options)  # type: ignore[arg-type]

    reason_given = why_no_envpool(env_id, changed, wrappers, masks_actions=masks_actions)

    assert reason_given is not None
    assert reason in reason_given


@pytest.mark.skipif(ENVPOOL.is_installed, reason="EnvPool is installed.")
def test_without_envpool_a_run_is_rejected_with_the_command_to_install_it() -> None:
    with pytest.raises(InputError, match=r"pip install .*envpool") as error:
        config("CartPole-v1")

    assert error.value.field == "wrappers.simulator"
