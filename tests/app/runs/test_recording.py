import io
from typing import Any

import numpy as np
import pytest

from app.authoring.tryouts import recording
from app.authoring.tryouts.actions import ActionSpace
from app.authoring.tryouts.recording import Recording
from app.catalog.environments.catalogue import CATALOGUE
from app.catalog.environments.spec import ActionKind
from app.core.errors import InputError
from app.protocol import messages


def moment(step: int, **facts: Any) -> messages.Happened:
    usual: dict[str, Any] = {
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
    return messages.Happened(step=step, **{**usual, **facts})


def played(*moments: messages.Happened) -> Recording:
    made = Recording()
    for one in moments:
        made.add(one)
    return made


def test_a_whole_episode_is_kept_as_arrays_that_need_no_unpickling() -> None:
    episode = played(moment(0), moment(1), moment(2, terminated=True))

    content = np.load(io.BytesIO(episode.as_npz("CartPole-v1")), allow_pickle=False)

    assert content["observations"].tolist() == [[0.0, 0.5], [1.0, 0.5], [2.0, 0.5]]
    assert content["actions"].tolist() == [1, 0]
    assert content["rewards"].tolist() == [1.0, 1.0]
    assert content["dones"].tolist() == [False, True]
    assert content["terminated"].tolist() == [False, True]
    assert content["truncated"].tolist() == [False, False]
    assert (str(content["env_id"]), int(content["seed"])) == ("CartPole-v1", 5)


def test_what_was_taken_back_is_not_part_of_it() -> None:
    episode = played(moment(0), moment(1), moment(2), moment(1), moment(2, truncated=True))

    assert episode.can_be_kept
    assert episode.steps == 2


def test_an_episode_without_its_beginning_or_end_is_not_kept() -> None:
    assert not played().can_be_kept
    assert not played(moment(0)).can_be_kept
    assert not played(moment(0), moment(1)).can_be_kept
    assert not played(moment(3), moment(4, terminated=True)).can_be_kept
    assert not played(moment(0), moment(1), moment(4, terminated=True)).can_be_kept


def test_a_new_beginning_forgets_the_episode_before() -> None:
    episode = played(moment(0), moment(1, terminated=True), moment(0), moment(1))

    assert not episode.can_be_kept
    assert episode.steps == 1


def test_an_endless_episode_is_dropped(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(recording, "_MOST_NUMBERS", 30)

    episode = played(*(moment(step) for step in range(8)), moment(8, terminated=True))

    assert episode.is_too_long
    assert not episode.can_be_kept


def test_pixels_are_left_out() -> None:
    episode = played(
        moment(0, observation=None), moment(1, observation=None, action=(0.5, 1.0), terminated=True)
    )

    content = np.load(io.BytesIO(episode.as_npz("CarRacing-v3")))

    assert "observations" not in content
    assert content["actions"].tolist() == [[0.5, 1.0]]


CART = CATALOGUE["CartPole-v1"]
CHOICES = ActionSpace(ActionKind.DISCRETE, (0,), (1,))
NUMBERS = ActionSpace(ActionKind.CONTINUOUS, (-1.0, None), (1.0, None))
BITS = ActionSpace(ActionKind.MULTI_BINARY, (0, 0), (1, 1))


def test_actions_that_can_be_done_are_taken_as_they_are() -> None:
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
def test_actions_that_can_not_be_done_are_refused_by_name(
    space: ActionSpace, wanted: object
) -> None:
    with pytest.raises(InputError, match="action must be") as refused:
        space.check(wanted, CART)

    assert refused.value.field == "action"
