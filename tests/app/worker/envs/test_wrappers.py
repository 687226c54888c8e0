"""The wrappers that a run's options select."""

import numpy as np

from app.protocol import Wrappers
from app.worker.envs.environments import make_env
from app.worker.envs.wrappers import wrap


def test_a_randomized_attribute_is_independent_of_the_first_state_of_the_same_seed() -> None:
    env = wrap(make_env("CartPole-v1", {}), Wrappers(randomize={"length": (0.3, 0.7)}))

    first = [(env.reset(seed=seed)[0][0], env.get_wrapper_attr("length")) for seed in range(500)]

    positions, lengths = np.array(first).T
    assert abs(np.corrcoef(positions, lengths)[0, 1]) < 0.15
    assert lengths.min() < 0.33
    assert lengths.max() > 0.67


def test_the_same_seed_gives_the_same_randomized_episodes() -> None:
    def episodes(seed: int) -> list[float]:
        env = wrap(make_env("Pendulum-v1", {}), Wrappers(randomize={"g": (8.0, 12.0)}))
        found = []
        for options in ({"seed": seed}, {}, {}):
            observation, _ = env.reset(**options)
            found += [*observation.tolist(), env.get_wrapper_attr("g")]
        return found

    assert episodes(5) == episodes(5)
    assert episodes(5) != episodes(6)
