"""Rollouts and updates of the fast engine's on-policy algorithms."""

import copy
from typing import Any

import numpy as np
import pytest
import torch
from stable_baselines3.common.callbacks import BaseCallback

from app.worker.fast.optimizers import NotFiniteError
from tests.app.worker.fast.engines import (
    ACTIONS,
    both_engines,
    collect,
    difference,
    update_alike,
)

pytestmark = pytest.mark.filterwarnings("ignore:You have specified a mini-batch size")


def test_target_kl_ends_an_update_at_the_same_step_as_in_sb3() -> None:
    plain, fast = both_engines("PPO", target_kl=1e-4, learning_rate=3e-3)

    update_alike(plain, fast)

    steps = [int(m.policy.optimizer.state_dict()["state"][0]["step"]) for m in (plain, fast)]
    assert steps[0] == steps[1] < 30
    assert fast._n_updates == plain._n_updates == 1


class Records(BaseCallback):
    """Records the environments' rewards and the truncated episodes."""

    def __init__(self) -> None:
        super().__init__()
        self.rewards: list[Any] = []
        self.truncations: list[tuple[int, int, Any]] = []

    def _on_step(self) -> bool:
        for n, info in enumerate(self.locals["infos"]):
            if info.get("TimeLimit.truncated"):
                self.truncations.append((len(self.rewards), n, info["terminal_observation"]))
        self.rewards.append(self.locals["rewards"].copy())
        return True


@pytest.mark.parametrize("actions", ACTIONS)
def test_values_and_advantages_of_a_rollout_equal_those_of_sb3(actions: str) -> None:
    _, fast = both_engines("PPO", actions=actions, gae_lambda=0.9)
    records = Records()
    records.init_callback(fast)
    fast.callback = records

    collect(fast)

    buffer, policy = fast.rollout_buffer, fast.policy
    observations = torch.from_numpy(buffer.observations.reshape(-1, 3))
    chosen = torch.from_numpy(buffer.actions.reshape(len(observations), -1)).float()
    with torch.no_grad():
        values, log_probs, _ = policy.evaluate_actions(
            observations, chosen.ravel() if actions == "discrete" else chosen
        )
        last = policy.predict_values(torch.from_numpy(fast._last_obs))
        bootstrapped = [
            float(policy.predict_values(torch.from_numpy(observation[None])))
            for *_, observation in records.truncations
        ]
    np.testing.assert_allclose(buffer.values.ravel(), values.numpy().ravel(), atol=1e-5)
    np.testing.assert_allclose(buffer.log_probs.ravel(), log_probs.numpy().ravel(), atol=1e-5)
    rewards = np.stack(records.rewards)
    assert records.truncations
    for (step, env, _), value in zip(records.truncations, bootstrapped, strict=True):
        rewards[step, env] += fast.gamma * value
    np.testing.assert_allclose(buffer.rewards, rewards, atol=1e-5)
    reference = copy.deepcopy(buffer)
    reference.compute_returns_and_advantage(last, fast._last_episode_starts)
    np.testing.assert_allclose(buffer.advantages, reference.advantages, atol=1e-5)
    np.testing.assert_allclose(buffer.returns, reference.returns, atol=1e-5)


@pytest.mark.parametrize("actions", ACTIONS)
def test_actions_are_sampled_with_their_probabilities(actions: str) -> None:
    _, fast = both_engines("PPO", actions=actions)
    observations = np.repeat(np.array([[0.3, -0.5, 0.8]], np.float32), 20_000, axis=0)
    distribution = fast.network.actions
    with torch.no_grad():
        for parameter in fast.policy.action_net.parameters():
            parameter += torch.randn_like(parameter)
        theirs = fast.policy(torch.from_numpy(observations))[0].numpy().reshape(20_000, -1)

    ours = distribution.choose(fast.network.act(observations), distribution.noise(1, 20_000)[0])

    # Four standard errors of a difference of two means.
    tolerance = 4 * np.sqrt(2 / 20_000) * np.maximum(theirs.std(axis=0), 0.05)
    assert (np.abs(ours.mean(axis=0) - theirs.mean(axis=0)) < tolerance).all()
    np.testing.assert_allclose(ours.std(axis=0), theirs.std(axis=0), atol=0.05)


def test_parameters_can_be_loaded_into_a_trained_model() -> None:
    plain, fast = both_engines("PPO")
    update_alike(plain, fast)
    update_alike(plain)

    fast.set_parameters(copy.deepcopy(plain.get_parameters()))
    update_alike(plain, fast)

    assert difference(plain, fast) < 1e-5


def test_torch_and_numpy_share_the_weights() -> None:
    _, fast = both_engines("PPO")
    observations = np.zeros((1, 3), np.float32)
    before = fast.network.values(observations).copy()

    with torch.no_grad():
        fast.policy.value_net.bias += 1.0

    np.testing.assert_allclose(fast.network.values(observations), before + 1.0, atol=1e-6)


def test_diverged_training_is_reported() -> None:
    _, fast = both_engines("PPO")
    collect(fast)
    fast.rollout_buffer.returns[3] = np.nan

    with pytest.raises(NotFiniteError, match="Lower learning_rate"):
        fast.train()


def test_log_probabilities_of_many_sub_actions_do_not_depend_on_the_memory_layout() -> None:
    _, fast = both_engines("PPO", actions="many sub-actions")
    distribution, rng = fast.network.actions, np.random.default_rng(0)
    outputs = rng.normal(size=(36, 50)).astype(np.float32)
    rows = distribution.prepare(rng.integers(3, size=(50, 12)))

    c_order, _ = distribution.evaluate(outputs.copy(), np.ascontiguousarray(rows))
    f_order, _ = distribution.evaluate(outputs.copy(), np.asfortranarray(rows))

    assert (c_order == f_order).all()
