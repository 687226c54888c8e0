import pytest

from app.catalog.environments.catalogue import ENVIRONMENTS
from app.catalog.environments.key_maps import key_map
from app.catalog.environments.spec import ActionKind, EnvSpec

CHOICES = [spec for spec in ENVIRONMENTS.values() if spec.action_kind is ActionKind.DISCRETE]
NUMBERS = [spec for spec in ENVIRONMENTS.values() if spec.action_kind is ActionKind.CONTINUOUS]


def environment(env_id: str) -> EnvSpec:
    return ENVIRONMENTS[env_id]


@pytest.mark.parametrize("spec", CHOICES, ids=lambda spec: spec.id)
def test_every_action_has_a_key_and_no_key_has_two_actions(spec: EnvSpec) -> None:
    keys = key_map(spec)

    names = [key.key for key in keys.keys]
    assert len(names) == len(set(names))
    reachable = {key.action for key in keys.keys} | set(keys.chords.values()) | set(keys.idle)
    assert reachable == set(range(spec.n_actions or 0))
    assert all(keys.choose([key.key]) == (key.action,) for key in keys.keys)


@pytest.mark.parametrize("spec", NUMBERS, ids=lambda spec: spec.id)
def test_the_first_continuous_actions_have_keys_that_reach_their_bounds(spec: EnvSpec) -> None:
    keys = key_map(spec)
    (count,) = spec.action_shape or (0,)
    bounds = [(-2.0, 2.0)] * count

    for key in keys.keys:
        values = keys.steer([key.key], {}, bounds)
        assert values[key.axis] == pytest.approx(2.0 * key.share)
        assert all(value == 0.0 for i, value in enumerate(values) if i != key.axis)
    assert {key.axis for key in keys.keys} >= set(range(min(count, 4)))


def test_arrow_keys_match_the_direction_on_screen() -> None:
    lake, pong = key_map(environment("FrozenLake-v1")), key_map(environment("ALE/Pong-v5"))

    assert lake.choose(["ArrowLeft"]) == (0,)
    assert lake.choose(["ArrowUp"]) == (3,)
    assert pong.choose(["ArrowUp"]) == (2,)
    assert pong.choose(["ArrowDown", " "]) == (5,)


def test_the_newest_key_wins_where_a_combination_has_no_action() -> None:
    lander = key_map(environment("LunarLander-v3"))

    assert lander.choose(["ArrowLeft", "ArrowUp"]) == (2,)
    assert lander.choose(["ArrowUp", "ArrowLeft"]) == (1,)
    assert lander.choose([]) == (0,)
    assert lander.choose(["q"]) == (0,)


def test_a_turn_based_environment_does_nothing_without_a_key() -> None:
    assert key_map(environment("Taxi-v4")).choose([]) == ()
    assert not key_map(environment("Taxi-v4")).is_live
    assert key_map(environment("CartPole-v1")).choose([]) == (0, 1)


def test_sliders_override_keys_and_stay_within_bounds() -> None:
    car = key_map(environment("CarRacing-v3"))
    bounds = [(-1.0, 1.0), (0.0, 1.0), (0.0, 1.0)]

    assert car.steer(["ArrowLeft", "ArrowUp"], {}, bounds) == (-1.0, 1.0, 0.0)
    assert car.steer(["ArrowLeft"], {0: 0.25, 2: 7.0, 9: 1.0}, bounds) == (0.25, 0.0, 1.0)
