import pytest

from app.catalog.environments.catalogue import CATALOGUE
from app.catalog.environments.key_maps import key_map
from app.catalog.environments.spec import ActionKind, EnvSpec

CHOICES = [spec for spec in CATALOGUE.values() if spec.action_kind is ActionKind.DISCRETE]
NUMBERS = [spec for spec in CATALOGUE.values() if spec.action_kind is ActionKind.CONTINUOUS]


def environment(env_id: str) -> EnvSpec:
    return CATALOGUE[env_id]


@pytest.mark.parametrize("spec", CHOICES, ids=lambda spec: spec.id)
def test_every_choice_can_be_made_and_no_key_means_two(spec: EnvSpec) -> None:
    keys = key_map(spec)

    names = [key.key for key in keys.keys]
    assert len(names) == len(set(names))
    by_hand = {key.action for key in keys.keys} | set(keys.chords.values()) | set(keys.idle)
    assert by_hand == set(range(spec.n_actions or 0))
    assert all(keys.choose([key.key]) == (key.action,) for key in keys.keys)


@pytest.mark.parametrize("spec", NUMBERS, ids=lambda spec: spec.id)
def test_the_first_numbers_have_keys_that_reach_their_bounds(spec: EnvSpec) -> None:
    keys = key_map(spec)
    (count,) = spec.action_shape or (0,)
    bounds = [(-2.0, 2.0)] * count

    for key in keys.keys:
        values = keys.steer([key.key], {}, bounds)
        assert values[key.axis] == pytest.approx(2.0 * key.share)
        assert all(value == 0.0 for i, value in enumerate(values) if i != key.axis)
    assert {key.axis for key in keys.keys} >= set(range(min(count, 4)))


def test_arrows_go_where_the_eye_expects() -> None:
    lake, pong = key_map(environment("FrozenLake-v1")), key_map(environment("ALE/Pong-v5"))

    assert lake.choose(["ArrowLeft"]) == (0,)
    assert lake.choose(["ArrowUp"]) == (3,)
    assert pong.choose(["ArrowUp"]) == (2,)
    assert pong.choose(["ArrowDown", " "]) == (5,)


def test_the_newest_of_several_keys_wins_where_they_mean_nothing_together() -> None:
    lander = key_map(environment("LunarLander-v3"))

    assert lander.choose(["ArrowLeft", "ArrowUp"]) == (2,)
    assert lander.choose(["ArrowUp", "ArrowLeft"]) == (1,)
    assert lander.choose([]) == (0,)
    assert lander.choose(["q"]) == (0,)


def test_a_world_that_waits_does_nothing_without_a_key() -> None:
    assert key_map(environment("Taxi-v4")).choose([]) == ()
    assert not key_map(environment("Taxi-v4")).is_live
    assert key_map(environment("CartPole-v1")).choose([]) == (0, 1)


def test_sliders_beat_keys_and_stay_within_bounds() -> None:
    car = key_map(environment("CarRacing-v3"))
    bounds = [(-1.0, 1.0), (0.0, 1.0), (0.0, 1.0)]

    assert car.steer(["ArrowLeft", "ArrowUp"], {}, bounds) == (-1.0, 1.0, 0.0)
    assert car.steer(["ArrowLeft"], {0: 0.25, 2: 7.0, 9: 1.0}, bounds) == (0.25, 0.0, 1.0)
