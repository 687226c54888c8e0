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
from app.worker.envs.vectorized.pipeline import make_training_envs, why_one_by_one
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


def complaint(body: str) -> UserCodeError:
    env = cart_pole(body)
    with pytest.raises(UserCodeError) as refused:
        play(env)
    return refused.value


def test_the_agent_learns_from_the_code_and_the_episode_keeps_its_own_return() -> None:
    rewards, info = play(cart_pole("return reward * 0.5"))

    assert set(rewards) == {0.5}
    assert info["episode"]["r"] == len(rewards)
    assert info["shaped"] == {"values": {"shaped_reward": len(rewards) * 0.5}, "terms": {}}


def test_terms_are_added_up_and_each_is_told() -> None:
    rewards, info = play(cart_pole("return {'alive': 1, 'upright': -abs(next_obs[2])}"))

    terms = info["shaped"]["terms"]
    assert terms["alive"] == len(rewards)
    assert terms["upright"] == pytest.approx(sum(rewards) - len(rewards), abs=1e-5)
    assert info["shaped"]["values"]["shaped_reward"] == pytest.approx(sum(rewards), abs=1e-5)


def test_terms_that_come_and_go_are_added_up_where_they_are() -> None:
    rewards, info = play(cart_pole("return {'left': 1.0} if action == 0 else {'right': 2.0}"))

    terms = info["shaped"]["terms"]
    assert terms["left"] + terms["right"] == sum(rewards)


def test_each_episode_counts_from_nothing() -> None:
    env = cart_pole("return {'alive': 1.0}")

    assert play(env)[1]["shaped"] == play(env)[1]["shaped"]


def test_the_code_sees_what_was_before_and_what_is_after() -> None:
    plain = gym.make("CartPole-v1")
    first, _ = plain.reset(seed=3)
    second = plain.step(0)[0]
    env = cart_pole("return float(obs[0]) * 1000 + float(next_obs[1])")

    env.reset(seed=3)

    assert env.step(0)[1] == pytest.approx(float(first[0]) * 1000 + float(second[1]))


@pytest.mark.parametrize("body", ["return obs.pole_angle", "return obs[2]"])
def test_components_have_names(body: str) -> None:
    env = cart_pole(body)
    first, _ = env.reset(seed=3)

    assert env.step(1)[1] == pytest.approx(float(first[2]))


def test_the_short_form_gets_the_observation_and_the_action() -> None:
    rewards, _ = play(cart_pole("def reward_function(obs, action):\n    return action + 1"))

    assert set(rewards) == {1.0, 2.0}


def test_a_class_begins_anew_with_every_episode() -> None:
    env = cart_pole(STATEFUL)

    for _ in range(2):
        rewards, _ = play(env)
        assert rewards == list(range(1, len(rewards) + 1))


def test_every_environment_has_a_memory_of_its_own() -> None:
    written = RewardFunction(STATEFUL)
    one, other = (CustomReward(gym.make("CartPole-v1"), written) for _ in range(2))
    one.reset(seed=1)
    other.reset(seed=1)

    one.step(0)

    assert (one.step(0)[1], other.step(0)[1]) == (2.0, 1.0)


def test_an_episode_that_is_brought_back_brings_back_what_the_code_remembers() -> None:
    env, other = cart_pole(STATEFUL), cart_pole(STATEFUL)
    env.reset(seed=1)
    for action in (0, 1, 1, 0):
        env.step(action)

    episode = pickle.loads(pickle.dumps(env.so_far()))

    assert other.bring_back(episode)
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
def test_what_no_training_survives_is_refused_with_the_line(body: str, sentence: str) -> None:
    error = complaint(body)

    assert str(error).startswith(f"reward.py, line 2: reward {sentence}"), error
    assert error.line == 2


def test_the_line_is_that_of_the_return_that_was_taken() -> None:
    error = complaint("if action == 0:\n        return 1.0\n    return None")

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
    assert str(complaint(body)).startswith(sentence)


def test_code_without_a_reward_is_refused() -> None:
    with pytest.raises(UserCodeError, match="defines no function reward"):
        RewardFunction("x = 1")


@pytest.mark.parametrize("method", ["__init__", "reset"])
def test_a_class_that_raises_is_explained(method: str) -> None:
    code = f"class Reward:\n    def {method}(self):\n        1 / 0\n    def __call__(self, *_): ..."

    with pytest.raises(UserCodeError, match=r"reward.py, line 3: ZeroDivisionError|no attribute"):
        CustomReward(gym.make("CartPole-v1"), RewardFunction(code)).reset()


def test_an_environment_that_writes_over_its_observations_does_no_harm() -> None:
    class Rewriting(gym.Wrapper[Any, Any, Any, Any]):
        def __init__(self) -> None:
            super().__init__(gym.make("CartPole-v1"))
            self.same = np.zeros(4, np.float32)

        def reset(self, **how: Any) -> Any:
            self.same[:], info = self.env.reset(**how)
            return self.same, info

        def step(self, action: Any) -> Any:
            self.same[:], *rest = self.env.step(action)
            return self.same, *rest

    body = "return {'x': obs[0], 'y': next_obs[1]}"

    assert play(cart_pole(body, env=Rewriting()))[0] == play(cart_pole(body))[0]


def test_actions_that_are_arrays_can_t_be_written_to() -> None:
    env = CustomReward(
        gym.make("Pendulum-v1"), RewardFunction(HEAD + "action[0] = 9\n    return 0.0")
    )
    env.reset(seed=1)
    given = np.array([0.5], np.float32)

    with pytest.raises(UserCodeError, match="read-only"):
        env.step(given)
    assert given.flags.writeable


def setup(**wishes: Any) -> commands.Setup:
    return commands.Setup(
        **{"env_id": "CartPole-v1", "algorithm": "PPO", "hyperparameters": {}, **wishes}
    )


def test_many_copies_are_shaped_one_by_one_and_it_says_so() -> None:
    envs = make_training_envs(setup(), 32, RewardFunction(HEAD + "return 7.0"))
    envs.reset()

    assert set(envs.step(np.zeros(32, dtype=np.int64))[1]) == {7.0}
    assert "aren't stepped by one call" in str(why_one_by_one(setup(), 32))
    assert why_one_by_one(setup(), 2) is None
    envs.close()


def test_a_skipped_frame_is_part_of_one_step_of_the_agent() -> None:
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


def test_ars_compares_directions_by_the_written_reward() -> None:
    envs = make_training_envs(setup(algorithm="ARS"), 1, RewardFunction(HEAD + "return -2.0"))
    model = Ars("LinearPolicy", envs, n_delta=1, seed=1)

    model.learn(100, callback=Untouched())

    assert model.ep_info_buffer
    assert all(episode["r"] == -2 * episode["l"] for episode in model.ep_info_buffer)
    envs.close()


class Untouched(BaseCallback):
    def _on_step(self) -> bool:
        for info in self.locals["infos"]:
            assert "episode" not in info or info["episode"]["r"] == info["episode"]["l"]
        return True


def test_without_a_reward_of_one_s_own_nothing_is_shaped() -> None:
    _, info = play(Replayable(gym.make("CartPole-v1")))

    assert "shaped" not in info
