import io
from typing import Any

import numpy as np
import pytest

from app.authoring.tryouts import recording
from app.authoring.tryouts.actions import ActionSpace
from app.authoring.tryouts.recording import Recording
from app.catalog.environments.catalogue import ENVIRONMENTS
from app.catalog.environments.spec import ActionKind
from app.core.errors import InputError
from app.protocol import messages


def transition(step: int, **values: Any) -> messages.Happened:
    defaults: dict[str, Any] = {
        "order": 0,
        "episode": 1,
        "seed": 5,
        "action": step % 2 if step else None,
        "observation": (float(step), 0.5),
        "reward": 1.0,
        "return_": float(step),
        "terminated": False,
        "truncated": False,
        "info": {},
    }
    return messages.Happened(step=step, **{**defaults, **values})


def record(*transitions: messages.Happened) -> Recording:
    recording = Recording()
    for one in transitions:
        recording.add(one)
    return recording


def test_a_complete_episode_is_saved_as_arrays_that_need_no_unpickling() -> None:
    episode = record(transition(0), transition(1), transition(2, terminated=True))

    content = np.load(io.BytesIO(episode.as_npz("CartPole-v1")), allow_pickle=False)

    assert content["observations"].tolist() == [[0.0, 0.5], [1.0, 0.5], [2.0, 0.5]]
    assert content["actions"].tolist() == [1, 0]
    assert content["rewards"].tolist() == [1.0, 1.0]
    assert content["dones"].tolist() == [False, True]
    assert content["terminated"].tolist() == [False, True]
    assert content["truncated"].tolist() == [False, False]
    assert (str(content["env_id"]), int(content["seed"])) == ("CartPole-v1", 5)


def test_steps_that_were_taken_back_are_not_recorded() -> None:
    episode = record(
        transition(0), transition(1), transition(2), transition(1), transition(2, truncated=True)
    )

    assert episode.can_be_saved
    assert episode.steps == 2


def test_an_incomplete_episode_can_not_be_saved() -> None:
    assert not record().can_be_saved
    assert not record(transition(0)).can_be_saved
    assert not record(transition(0), transition(1)).can_be_saved
    assert not record(transition(3), transition(4, terminated=True)).can_be_saved
    assert not record(transition(0), transition(1), transition(4, terminated=True)).can_be_saved


def test_a_reset_discards_the_previous_episode() -> None:
    episode = record(transition(0), transition(1, terminated=True), transition(0), transition(1))

    assert not episode.can_be_saved
    assert episode.steps == 1


def test_an_episode_that_is_too_long_is_dropped(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(recording, "_MAX_NUMBERS", 30)

    episode = record(*(transition(step) for step in range(8)), transition(8, terminated=True))

    assert episode.is_too_long
    assert not episode.can_be_saved


def test_image_observations_are_not_saved() -> None:
    episode = record(
        transition(0, observation=None),
        transition(1, observation=None, action=(0.5, 1.0), terminated=True),
    )

    content = np.load(io.BytesIO(episode.as_npz("CarRacing-v3")))

    assert "observations" not in content
    assert content["actions"].tolist() == [[0.5, 1.0]]


CART = ENVIRONMENTS["CartPole-v1"]
CHOICES = ActionSpace(ActionKind.DISCRETE, (0,), (1,))
NUMBERS = ActionSpace(ActionKind.CONTINUOUS, (-1.0, None), (1.0, None))
BITS = ActionSpace(ActionKind.MULTI_BINARY, (0, 0), (1, 1))


def test_valid_actions_are_accepted_unchanged() -> None:
    assert CHOICES.check(1, CART) == 1
    assert NUMBERS.check([0.5, -70], CART) == (0.5, -70.0)
    assert BITS.check([1, 0], CART) == (1.0, 0.0)


@pytest.mark.parametrize(
    ("space", "wanted"),
    [
        (CHOICES, 2),
        (CHOICES, -1),
        (CHOICES, 1.5),
        (CHOICES, True),
        (CHOICES, "1"),
        (CHOICES, [1]),
        (NUMBERS, 1),
        (NUMBERS, [0.5]),
        (NUMBERS, [1.5, 0]),
        (NUMBERS, [float("nan"), 0]),
        (NUMBERS, [0, float("inf")]),
        (NUMBERS, ["0", 0]),
        (BITS, [0.5, 0]),
        (BITS, [True, False]),
    ],
)
def test_invalid_actions_are_refused_with_the_reason(space: ActionSpace, wanted: object) -> None:
    with pytest.raises(InputError, match="action must be") as refused:
        space.check(wanted, CART)

    assert refused.value.field == "action"
