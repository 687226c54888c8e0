import pickle
from typing import Any

import gymnasium as gym
import numpy as np
import pytest
from stable_baselines3.common.callbacks import BaseCallback

from app.protocol import commands
from app.protocol.user_code import UserCodeError
from app.protocol.wrappers import Wrappers
from app.worker.envs.custom_reward import CustomReward
from app.worker.envs.replayable import Replayable
from app.worker.envs.reward_functions import RewardFunction
from app.worker.envs.vectorized.pipeline import make_training_envs, single_stepping_notice
from app.worker.models.ars import Ars

HEAD = "def reward(obs, action, next_obs, reward, terminated, truncated, info):\n    "
NAMES = ("cart_position", "cart_velocity", "pole_angle", "pole_angular_velocity")
STATEFUL = """
class Reward:
    def reset(self):
        self.steps = 0

    def __call__(self, obs, action, next_obs, reward, terminated, truncated, info):
        self.steps += 1
        return float(self.steps)
"""


def cart_pole(body: str, *, env: gym.Env[Any, Any] | None = None) -> CustomReward:
    code = body if body.startswith(("def ", "\nclass ", "import ")) else HEAD + body
    return CustomReward(env or gym.make("CartPole-v1"), RewardFunction(code, NAMES))


def play(env: gym.Env[Any, Any], *, seed: int = 3) -> tuple[list[float], dict[str, Any]]:
    """Play one episode with the same actions every time."""
    env.reset(seed=seed)
    rewards: list[float] = []
    info: dict[str, Any] = {}
    is_over = False
    while not is_over:
        _, reward, terminated, truncated, info = env.step(len(rewards) // 2 % 2)
        rewards.append(float(reward))
        is_over = terminated or truncated
    return rewards, info


def error_of(body: str) -> UserCodeError:
    env = cart_pole(body)
    with pytest.raises(UserCodeError) as error:
        play(env)
    return error.value


def test_the_agent_gets_the_custom_reward_and_the_episode_keeps_its_original_return() -> None:
    rewards, info = play(cart_pole("return reward * 0.5"))

    assert set(rewards) == {0.5}
    assert info["episode"]["r"] == len(rewards)
    assert info["shaped"] == {"values": {"shaped_reward": len(rewards) * 0.5}, "terms": {}}


def test_terms_are_summed_and_each_is_reported() -> None:
    rewards, info = play(cart_pole("return {'alive': 1, 'upright': -abs(next_obs[2])}"))

    terms = info["shaped"]["terms"]
    assert terms["alive"] == len(rewards)
    assert terms["upright"] == pytest.approx(sum(rewards) - len(rewards), abs=1e-5)
    assert info["shaped"]["values"]["shaped_reward"] == pytest.approx(sum(rewards), abs=1e-5)


def test_terms_may_be_missing_in_some_steps() -> None:
    rewards, info = play(cart_pole("return {'left': 1.0} if action == 0 else {'right': 2.0}"))

    terms = info["shaped"]["terms"]
    assert terms["left"] + terms["right"] == sum(rewards)


def test_sums_start_at_zero_in_each_episode() -> None:
    env = cart_pole("return {'alive': 1.0}")

    assert play(env)[1]["shaped"] == play(env)[1]["shaped"]


def test_the_code_gets_the_observations_before_and_after_the_step() -> None:
    plain = gym.make("CartPole-v1")
    first, _ = plain.reset(seed=3)
    second = plain.step(0)[0]
    env = cart_pole("return float(obs[0]) * 1000 + float(next_obs[1])")

    env.reset(seed=3)

    assert env.step(0)[1] == pytest.approx(float(first[0]) * 1000 + float(second[1]))


@pytest.mark.parametrize("body", ["return obs.pole_angle", "return obs[2]"])
def test_components_are_attributes_of_the_observation(body: str) -> None:
    env = cart_pole(body)
    first, _ = env.reset(seed=3)

    assert env.step(1)[1] == pytest.approx(float(first[2]))


def test_reward_function_gets_the_observation_and_the_action() -> None:
    rewards, _ = play(cart_pole("def reward_function(obs, action):\n    return action + 1"))

    assert set(rewards) == {1.0, 2.0}


def test_a_reward_class_is_reset_before_each_episode() -> None:
    env = cart_pole(STATEFUL)

    for _ in range(2):
        rewards, _ = play(env)
        assert rewards == list(range(1, len(rewards) + 1))


def test_each_environment_has_its_own_reward_instance() -> None:
    function = RewardFunction(STATEFUL)
    one, other = (CustomReward(gym.make("CartPole-v1"), function) for _ in range(2))
    one.reset(seed=1)
    other.reset(seed=1)

    one.step(0)

    assert (one.step(0)[1], other.step(0)[1]) == (2.0, 1.0)


def test_replaying_an_episode_restores_the_state_of_the_reward() -> None:
    env, other = cart_pole(STATEFUL), cart_pole(STATEFUL)
    env.reset(seed=1)
    for action in (0, 1, 1, 0):
        env.step(action)

    episode = pickle.loads(pickle.dumps(env.current_episode()))

    assert other.replay_episode(episode)
    assert other.step(1)[1] == env.step(1)[1] == 5.0
    assert play(other)[1]["shaped"] == play(env)[1]["shaped"]


@pytest.mark.parametrize(
    "value",
    [
        "np.float32(0.25)",
        "np.float64(0.25)",
        "np.array(0.25)",
        "np.array([0.25])",
        "torch.tensor(0.25)",
        "torch.tensor([0.25], requires_grad=True)",
        "Fraction(1, 4)",
        "True / 4",
    ],
)
def test_numbers_of_other_libraries_are_numbers(value: str) -> None:
    imports = "import numpy as np, torch\nfrom fractions import Fraction\n"

    rewards, _ = play(cart_pole(f"{imports}{HEAD}return {value}"))

    assert set(rewards) == {0.25}


@pytest.mark.parametrize(
    ("body", "sentence"),
    [
        ("pass", "returned None; it must be a number, or a dict of named numbers"),
        ("return [1.0]", "returned a value of type list; it must be a number"),
        ("return 'much'", "returned a value of type str; it must be a number"),
        ("return 1j", "returned a value of type complex; it must be a number"),
        ("return obs", "returned a value of type Observation; it must be a number"),
        ("return float('nan')", "returned NaN; it must be within ±1,000,000"),
        ("return float('inf')", "returned infinity; it must be"),
        ("return -float('inf')", "returned -infinity; it must be"),
        ("return 2_000_000", "returned 2e+06; it must be within ±1,000,000"),
        ("return 10**400", "returned an integer of 400 digits; it must be within"),
        ("return {'a': 1.0, 'b': float('nan')}", "returned, as term 'b', NaN; it must be within"),
        ("return {'a': None}", "returned, as term 'a', None; it must be a number"),
        ("return {'a': 1e300, 'b': 1.0}", "returned, as term 'a', 1e+300; it must be"),
        ("return {1: 1.0}", "has a term '1'; a name has at most 40 letters"),
        ("return {'a,b': 1.0}", "has a term 'a,b'; a name has"),
        ("return {str(i): 0.0 for i in range(33)}", "has more than 32 terms; use the same few"),
    ],
)
def test_an_unusable_reward_is_rejected_with_the_line(body: str, sentence: str) -> None:
    error = error_of(body)

    assert str(error).startswith(f"reward.py, line 2: reward {sentence}"), error
    assert error.line == 2


def test_the_line_is_that_of_the_executed_return() -> None:
    error = error_of("if action == 0:\n        return 1.0\n    return None")

    assert error.line == 4


@pytest.mark.parametrize(
    ("body", "sentence"),
    [
        ("return 1 / 0", "reward.py, line 2: ZeroDivisionError: division by zero"),
        ("next_obs[0] = 1", "reward.py, line 2: ValueError: assignment destination is read-only"),
        ("obs.wheel", "reward.py, line 2: AttributeError: 'Observation' object has no attribute"),
        ("raise SystemExit", "reward.py, line 2: it raised SystemExit"),
        ("return bytearray(10**14)[0]", "reward.py, line 2: it ran out of the memory"),
    ],
)
def test_an_exception_names_its_line(body: str, sentence: str) -> None:
    assert str(error_of(body)).startswith(sentence)


def test_code_without_a_reward_is_rejected() -> None:
    with pytest.raises(UserCodeError, match="defines no function reward"):
        RewardFunction("x = 1")


@pytest.mark.parametrize("method", ["__init__", "reset"])
def test_an_exception_in_a_reward_class_is_explained(method: str) -> None:
    code = f"class Reward:\n    def {method}(self):\n        1 / 0\n    def __call__(self, *_): ..."

    with pytest.raises(UserCodeError, match=r"reward.py, line 3: ZeroDivisionError|no attribute"):
        CustomReward(gym.make("CartPole-v1"), RewardFunction(code)).reset()


def test_an_environment_may_overwrite_its_observations() -> None:
    class OverwritesObservations(gym.Wrapper[Any, Any, Any, Any]):
        def __init__(self) -> None:
            super().__init__(gym.make("CartPole-v1"))
            self.buffer = np.zeros(4, np.float32)

        def reset(self, **options: Any) -> Any:
            self.buffer[:], info = self.env.reset(**options)
            return self.buffer, info

        def step(self, action: Any) -> Any:
            self.buffer[:], *rest = self.env.step(action)
            return self.buffer, *rest

    body = "return {'x': obs[0], 'y': next_obs[1]}"

    assert play(cart_pole(body, env=OverwritesObservations()))[0] == play(cart_pole(body))[0]


def test_array_actions_are_read_only() -> None:
    env = CustomReward(
        gym.make("Pendulum-v1"), RewardFunction(HEAD + "action[0] = 9\n    return 0.0")
    )
    env.reset(seed=1)
    action_array = np.array([0.5], np.float32)

    with pytest.raises(UserCodeError, match="read-only"):
        env.step(action_array)
    assert action_array.flags.writeable


def setup(**values: Any) -> commands.Setup:
    return commands.Setup(
        **{"env_id": "CartPole-v1", "algorithm": "PPO", "hyperparameters": {}, **values}
    )


def test_many_environments_are_stepped_one_by_one_with_a_notice() -> None:
    envs = make_training_envs(setup(), 32, RewardFunction(HEAD + "return 7.0"))
    envs.reset()

    assert set(envs.step(np.zeros(32, dtype=np.int64))[1]) == {7.0}
    assert "are stepped one by one" in str(single_stepping_notice(setup(), 32))
    assert single_stepping_notice(setup(), 2) is None
    envs.close()


def test_rewards_of_skipped_frames_belong_to_one_step_of_the_agent() -> None:
    options = Wrappers(frame_skip=4)
    envs = make_training_envs(
        setup(wrappers=options), 1, RewardFunction(HEAD + "return {'r': reward}")
    )
    envs.seed(3)
    envs.reset()
    infos: Any = [{}]
    while "episode" not in infos[0]:
        _, rewards, _, infos = envs.step(np.zeros(1, dtype=np.int64))

    assert rewards[0] <= 4
    assert infos[0]["shaped"]["terms"] == {"r": infos[0]["episode"]["r"]}
    envs.close()


def test_ars_ranks_directions_by_the_custom_reward() -> None:
    envs = make_training_envs(setup(algorithm="ARS"), 1, RewardFunction(HEAD + "return -2.0"))
    model = Ars("LinearPolicy", envs, n_delta=1, seed=1)

    model.learn(100, callback=ChecksOriginalReturns())

    assert model.ep_info_buffer
    assert all(episode["r"] == -2 * episode["l"] for episode in model.ep_info_buffer)
    envs.close()


class ChecksOriginalReturns(BaseCallback):
    def _on_step(self) -> bool:
        for info in self.locals["infos"]:
            assert "episode" not in info or info["episode"]["r"] == info["episode"]["l"]
        return True


def test_without_a_custom_reward_there_is_no_shaped_return() -> None:
    _, info = play(Replayable(gym.make("CartPole-v1")))

    assert "shaped" not in info
