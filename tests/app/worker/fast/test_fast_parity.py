"""The fast engine does what Stable-Baselines3 does, to the rounding of float32.

Weights differ by less than 1e-5 after 50 gradient steps that each moved them by up to 1e-3;
losses and gradients by less than 1e-4 of their size; a rollout's values by less than 1e-5.
"""

import copy
import io
from typing import Any

import gymnasium as gym
import numpy as np
import pytest
import torch
from gymnasium.spaces import Box, Discrete, MultiBinary, MultiDiscrete
from stable_baselines3 import A2C, PPO
from stable_baselines3.common.callbacks import BaseCallback
from stable_baselines3.common.logger import Logger
from stable_baselines3.common.sb2_compat.rmsprop_tf_like import RMSpropTFLike
from stable_baselines3.common.vec_env import DummyVecEnv

from app.worker.fast.on_policy.a2c import FastA2C
from app.worker.fast.on_policy.ppo import FastPPO
from app.worker.fast.optimizers import NotFiniteError

torch.set_num_threads(1)
# The last minibatch of an epoch is smaller than the others on purpose.
pytestmark = pytest.mark.filterwarnings("ignore:You have specified a mini-batch size")

SEEN = Box(-1, 1, (3,), np.float32)
ACTIONS: dict[str, gym.Space[Any]] = {
    "discrete": Discrete(3),
    "multi_discrete": MultiDiscrete([2, 4, 3]),
    "multi_binary": MultiBinary(3),
    "box": Box(-1, 2, (2,), np.float32),
    "box of several rows": Box(-1, 1, (2, 2), np.float32),
}
OBSERVATIONS: dict[str, gym.Space[Any]] = {
    "several rows": Box(-1, 1, (2, 3), np.float32),
    "double": Box(-1, 1, (3,), np.float64),
    "discrete": Discrete(5),
    "multi_discrete": MultiDiscrete([3, 2]),
    "multi_binary": MultiBinary(4),
    "small picture": Box(0, 255, (3, 4, 4), np.uint8),
}
NETWORKS = {
    "tanh": ([16, 16], torch.nn.Tanh),
    "relu": ([16, 8], torch.nn.ReLU),
    "elu": ([5, 7, 6], torch.nn.ELU),
    "no hidden layers": ([], torch.nn.Tanh),
    "networks of their own": ({"pi": [16], "vf": [8, 12]}, torch.nn.Tanh),
    "a value function without hidden layers": ({"pi": [16], "vf": []}, torch.nn.ReLU),
}
KINDS: dict[str, tuple[type[Any], type[Any]]] = {"PPO": (PPO, FastPPO), "A2C": (A2C, FastA2C)}
VALUES: dict[str, dict[str, Any]] = {
    "PPO": {"n_steps": 32, "batch_size": 25, "n_epochs": 5},
    "A2C": {"n_steps": 8},
}
PPO_OPTIONS: dict[str, dict[str, Any]] = {
    "value clip": {"clip_range_vf": 0.05},
    "target_kl": {"target_kl": 1e-4, "learning_rate": 3e-3},
    "entropy": {"ent_coef": 0.05},
    "plain advantages": {"normalize_advantage": False},
    "clipped gradients": {"max_grad_norm": 0.05},
    "narrow clip": {"clip_range": 0.005},
    "schedules": {"learning_rate": lambda left: 3e-3 * left, "clip_range": lambda left: 0.3 * left},
}
A2C_OPTIONS: dict[str, dict[str, Any]] = {
    "Adam": {"use_rms_prop": False},
    "TensorFlow's RMSprop": {
        "policy_kwargs": {"optimizer_class": RMSpropTFLike, "optimizer_kwargs": {"eps": 1e-5}}
    },
    "scaled advantages": {"normalize_advantage": True},
    "entropy": {"ent_coef": 0.05, "gae_lambda": 0.9},
}


class Noise(gym.Env[Any, Any]):
    """Random observations and rewards; some episodes end, some are cut."""

    def __init__(self, seen: gym.Space[Any], actions: gym.Space[Any]) -> None:
        self.observation_space = seen
        self.action_space = actions

    def reset(self, *, seed: int | None = None, options: Any = None) -> tuple[Any, dict[str, Any]]:
        super().reset(seed=seed)
        self.observation_space.seed(int(self.np_random.integers(1 << 30)))
        return self.observation_space.sample(), {}

    def step(self, action: Any) -> tuple[Any, float, bool, bool, dict[str, Any]]:
        assert self.action_space.contains(action)
        ends, is_cut = self.np_random.random(2) < 0.1
        reward = float(self.np_random.normal())
        return self.observation_space.sample(), reward, bool(ends), bool(is_cut), {}


def build(kind: type[Any], seen: gym.Space[Any], actions: gym.Space[Any], **values: Any) -> Any:
    envs = DummyVecEnv([lambda: Noise(copy.deepcopy(seen), actions)] * 4)
    values.setdefault("policy_kwargs", {"net_arch": [8]})
    model = kind("MlpPolicy", envs, seed=7, device="cpu", **values)
    model.set_logger(Logger(folder=None, output_formats=[]))
    _, model.nobody = model._setup_learn(10_000)
    return model


def collect(model: Any) -> None:
    assert model.collect_rollouts(model.env, model.nobody, model.rollout_buffer, model.n_steps)


def learn_alike(plain: Any, *others: Any, times: int = 1) -> None:
    """Let all learn from a rollout that the plain one collected."""
    collect(plain)
    for model in others:
        model.rollout_buffer = copy.deepcopy(plain.rollout_buffer)
    for model in (plain, *others):
        np.random.seed(11)
        for _ in range(times):
            model.train()


def weights_of(model: Any) -> Any:
    return torch.cat([parameter.detach().ravel() for parameter in model.policy.parameters()])


def assert_same_learning(plain: Any, fast: Any) -> None:
    """Do at least 50 gradient steps: in PPO 6 minibatches times 5 epochs from each rollout."""
    before = weights_of(plain).clone()
    for _ in range(2):
        learn_alike(plain, fast, times=25 if isinstance(plain, A2C) else 1)
        logged = plain.logger.name_to_value
        assert logged.keys() == fast.logger.name_to_value.keys()
        for name, value in logged.items():
            assert fast.logger.name_to_value[name] == pytest.approx(value, rel=1e-4, abs=1e-5), name
        for model in (plain, fast):
            model._current_progress_remaining -= 0.3
    after = weights_of(plain)
    assert float((after - before).abs().max()) > 5e-4
    assert float((after - weights_of(fast)).abs().max()) < 1e-5


def twins(algorithm: str, seen: Any, actions: Any, **values: Any) -> tuple[Any, Any]:
    plain, fast = (
        build(kind, seen, actions, **{**VALUES[algorithm], **copy.deepcopy(values)})
        for kind in KINDS[algorithm]
    )
    return plain, fast


@pytest.mark.parametrize("algorithm", KINDS)
@pytest.mark.parametrize("actions", ACTIONS)
def test_learning_is_the_same_with_all_actions(algorithm: str, actions: str) -> None:
    plain, fast = twins(algorithm, SEEN, ACTIONS[actions], ent_coef=0.02)

    assert_same_learning(plain, fast)


@pytest.mark.parametrize("algorithm", KINDS)
@pytest.mark.parametrize("network", NETWORKS)
def test_learning_is_the_same_with_all_networks(algorithm: str, network: str) -> None:
    sizes, activation = NETWORKS[network]
    arguments = {"net_arch": sizes, "activation_fn": activation}
    plain, fast = twins(algorithm, SEEN, ACTIONS["discrete"], policy_kwargs=arguments)

    assert_same_learning(plain, fast)


@pytest.mark.parametrize("option", PPO_OPTIONS)
@pytest.mark.parametrize("actions", ["discrete", "box"])
def test_learning_is_the_same_with_all_options_of_ppo(option: str, actions: str) -> None:
    plain, fast = twins("PPO", SEEN, ACTIONS[actions], **PPO_OPTIONS[option])

    assert_same_learning(plain, fast)


@pytest.mark.parametrize("option", A2C_OPTIONS)
@pytest.mark.parametrize("actions", ["multi_discrete", "box"])
def test_learning_is_the_same_with_all_options_of_a2c(option: str, actions: str) -> None:
    plain, fast = twins("A2C", SEEN, ACTIONS[actions], **A2C_OPTIONS[option])

    assert_same_learning(plain, fast)


@pytest.mark.parametrize("seen", OBSERVATIONS)
def test_learning_is_the_same_with_all_observations(seen: str) -> None:
    plain, fast = twins("PPO", OBSERVATIONS[seen], ACTIONS["discrete"])

    assert_same_learning(plain, fast)


def test_a_target_ends_an_update_where_sb3_ends_it() -> None:
    plain, fast = twins("PPO", SEEN, Discrete(3), target_kl=1e-4, learning_rate=3e-3)

    learn_alike(plain, fast)

    steps = [int(m.policy.optimizer.state_dict()["state"][0]["step"]) for m in (plain, fast)]
    assert steps[0] == steps[1] < 30
    assert fast._n_updates == plain._n_updates == 1


@pytest.mark.parametrize("algorithm", KINDS)
@pytest.mark.parametrize("actions", ACTIONS)
def test_gradients_are_the_same(algorithm: str, actions: str) -> None:
    values = {"max_grad_norm": 1e9, "ent_coef": 0.02}
    if algorithm == "PPO":
        values |= {"batch_size": 128, "n_epochs": 1}
    plain, fast = twins(algorithm, SEEN, ACTIONS[actions], **values)
    lengths: list[float] = []
    fast.after_gradient_step = lengths.append

    learn_alike(plain, fast)

    ours = dict(fast.policy.named_parameters())
    theirs = dict(plain.policy.named_parameters())
    for name, parameter in theirs.items():
        same = torch.allclose(ours[name].grad, parameter.grad, rtol=1e-4, atol=1e-6)
        assert same, name
    together = torch.cat([parameter.grad.ravel() for parameter in theirs.values()]).norm()
    assert lengths == [pytest.approx(float(together), rel=1e-5)]


class Remembers(BaseCallback):
    """Keeps the rewards as the environments gave them, and which episodes were cut."""

    def __init__(self) -> None:
        super().__init__()
        self.rewards: list[Any] = []
        self.cuts: list[tuple[int, int, Any]] = []

    def _on_step(self) -> bool:
        for n, info in enumerate(self.locals["infos"]):
            if info.get("TimeLimit.truncated"):
                self.cuts.append((len(self.rewards), n, info["terminal_observation"]))
        self.rewards.append(self.locals["rewards"].copy())
        return True


@pytest.mark.parametrize("actions", ACTIONS)
def test_a_rollout_is_judged_as_sb3_judges_it(actions: str) -> None:
    _, fast = twins("PPO", SEEN, ACTIONS[actions], gae_lambda=0.9)
    memory = Remembers()
    memory.init_callback(fast)
    fast.nobody = memory

    collect(fast)

    buffer, policy = fast.rollout_buffer, fast.policy
    observed = torch.from_numpy(buffer.observations.reshape(-1, 3))
    chosen = torch.from_numpy(buffer.actions.reshape(len(observed), -1)).float()
    with torch.no_grad():
        values, log_probs, _ = policy.evaluate_actions(
            observed, chosen.ravel() if actions == "discrete" else chosen
        )
        last = policy.predict_values(torch.from_numpy(fast._last_obs))
        worth = [
            float(policy.predict_values(torch.from_numpy(seen[None]))) for *_, seen in memory.cuts
        ]
    np.testing.assert_allclose(buffer.values.ravel(), values.numpy().ravel(), atol=1e-5)
    np.testing.assert_allclose(buffer.log_probs.ravel(), log_probs.numpy().ravel(), atol=1e-5)
    rewards = np.stack(memory.rewards)
    assert memory.cuts
    for (step, env, _), value in zip(memory.cuts, worth, strict=True):
        rewards[step, env] += fast.gamma * value
    np.testing.assert_allclose(buffer.rewards, rewards, atol=1e-5)
    again = copy.deepcopy(buffer)
    again.compute_returns_and_advantage(last, fast._last_episode_starts)
    np.testing.assert_allclose(buffer.advantages, again.advantages, atol=1e-5)
    np.testing.assert_allclose(buffer.returns, again.returns, atol=1e-5)


@pytest.mark.parametrize("actions", ACTIONS)
def test_actions_are_drawn_as_often_as_they_are_likely(actions: str) -> None:
    _, fast = twins("PPO", SEEN, ACTIONS[actions])
    observed = np.repeat(np.array([[0.3, -0.5, 0.8]], np.float32), 20_000, axis=0)
    kind = fast.network.actions
    with torch.no_grad():
        for parameter in fast.policy.action_net.parameters():
            parameter += torch.randn_like(parameter)
        sb3_draws = fast.policy(torch.from_numpy(observed))[0].numpy().reshape(20_000, -1)

    ours = kind.choose(fast.network.act(observed), kind.noise(1, 20_000)[0])

    # Four standard errors of a difference of two means.
    allowed = 4 * np.sqrt(2 / 20_000) * np.maximum(sb3_draws.std(axis=0), 0.05)
    assert (np.abs(ours.mean(axis=0) - sb3_draws.mean(axis=0)) < allowed).all()
    np.testing.assert_allclose(ours.std(axis=0), sb3_draws.std(axis=0), atol=0.05)


@pytest.mark.parametrize("algorithm", KINDS)
def test_the_same_seed_gives_the_same_training_twice(algorithm: str) -> None:
    first, second = (
        build(KINDS[algorithm][1], SEEN, ACTIONS["discrete"], **VALUES[algorithm]).learn(300)
        for _ in range(2)
    )

    assert bool((weights_of(first) == weights_of(second)).all())


def saved(model: Any) -> io.BytesIO:
    file = io.BytesIO()
    model.save(file)
    file.seek(0)
    return file


@pytest.mark.parametrize("algorithm", KINDS)
@pytest.mark.parametrize("actions", ["discrete", "box"])
def test_a_model_goes_on_in_the_other_engine(algorithm: str, actions: str) -> None:
    plain, fast = twins(algorithm, SEEN, ACTIONS[actions])
    plain_kind, fast_kind = KINDS[algorithm]
    learn_alike(plain, fast)

    now_fast = fast_kind.load(saved(plain), env=plain.env, device="cpu")
    now_plain = plain_kind.load(saved(fast), env=plain.env, device="cpu")

    for model in (now_fast, now_plain):
        model.set_logger(Logger(folder=None, output_formats=[]))
    learn_alike(plain, now_fast, now_plain)
    assert float((weights_of(plain) - weights_of(now_fast)).abs().max()) < 1e-5
    assert float((weights_of(plain) - weights_of(now_plain)).abs().max()) < 1e-5


def test_weights_and_optimiser_are_loaded_into_a_model_that_has_learned() -> None:
    plain, fast = twins("PPO", SEEN, ACTIONS["discrete"])
    learn_alike(plain, fast)
    learn_alike(plain)

    fast.set_parameters(copy.deepcopy(plain.get_parameters()))
    learn_alike(plain, fast)

    assert float((weights_of(plain) - weights_of(fast)).abs().max()) < 1e-5


def test_torch_and_numpy_see_the_same_weights() -> None:
    _, fast = twins("PPO", SEEN, ACTIONS["discrete"])
    observed = np.zeros((1, 3), np.float32)
    before = fast.network.values(observed).copy()

    with torch.no_grad():
        fast.policy.value_net.bias += 1.0

    np.testing.assert_allclose(fast.network.values(observed), before + 1.0, atol=1e-6)


def test_learning_that_breaks_down_says_so() -> None:
    _, fast = twins("PPO", SEEN, ACTIONS["discrete"])
    collect(fast)
    fast.rollout_buffer.returns[3] = np.nan

    with pytest.raises(NotFiniteError, match="Lower learning_rate"):
        fast.train()
