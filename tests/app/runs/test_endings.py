import pytest

from app.runs.state import endings
from app.runs.state.endings import StopWish
from app.workers.errors import Cause, Exit
from storage.records.runs import Progress, RunStatus

DONE = Progress(timesteps=2_048, elapsed_s=3.2)


@pytest.mark.parametrize(
    ("cause", "wish", "status", "words"),
    [
        (Cause.OUTSIDE, None, RunStatus.INTERRUPTED, "ended from outside (SIGKILL)"),
        (Cause.SANDBOX, None, RunStatus.FAILED, "sandbox"),
        (Cause.ITSELF, None, RunStatus.FAILED, "(SIGKILL)"),
        (Cause.LIMIT, None, RunStatus.FAILED, "was ended: it did something."),
        (Cause.USER_CODE, None, RunStatus.FAILED, "it did something"),
        (Cause.OUTSIDE, StopWish.PERSON, RunStatus.STOPPED, "did not answer"),
        (Cause.OUTSIDE, StopWish.SERVER, RunStatus.INTERRUPTED, "shut down"),
    ],
)
def test_a_lost_worker_is_judged_by_how_it_went(
    cause: Cause, wish: StopWish | None, status: RunStatus, words: str
) -> None:
    ending = endings.lost(Exit(cause, "it did something", "SIGKILL"), wish)

    assert ending.status is status
    assert words in ending.message


def test_a_used_budget_completes_a_run_without_an_error() -> None:
    ending = endings.finished("budget", None, DONE, 2_048)

    assert ending.status is RunStatus.COMPLETED
    assert ending.message == "Training complete: 2,048 steps in 3.2 s."
    assert ending.error is None


def test_who_stopped_a_run_decides_what_it_is_called() -> None:
    assert endings.finished("stopped", StopWish.PERSON, DONE, None).status is RunStatus.STOPPED
    assert endings.finished("stopped", StopWish.SERVER, DONE, None).status is RunStatus.INTERRUPTED


def test_a_full_disk_is_said_plainly() -> None:
    ending = endings.no_disk(OSError(28, "No space left on device"))

    assert ending.status is RunStatus.INTERRUPTED
    assert "No space left on device" in ending.message


def test_a_stopped_run_says_where_it_can_go_on() -> None:
    ending = endings.finished("stopped", StopWish.PERSON, DONE, 1_024)

    assert ending.message == (
        "Stopped after 2,048 steps. The model was kept. It can go on from step 1,024."
    )
