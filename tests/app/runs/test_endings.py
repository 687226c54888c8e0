import pytest

from app.runs.state import endings
from app.runs.state.endings import StopRequest
from app.workers.errors import Cause, Exit
from storage.records.runs import Progress, RunStatus

DONE = Progress(timesteps=2_048, elapsed_s=3.2)


@pytest.mark.parametrize(
    ("cause", "requested", "status", "words"),
    [
        (Cause.OUTSIDE, None, RunStatus.INTERRUPTED, "killed from outside (SIGKILL)"),
        (Cause.SANDBOX, None, RunStatus.FAILED, "Sandbox"),
        (Cause.ITSELF, None, RunStatus.FAILED, "(SIGKILL)"),
        (Cause.LIMIT, None, RunStatus.FAILED, "was ended: it did something."),
        (Cause.USER_CODE, None, RunStatus.FAILED, "it did something"),
        (Cause.OUTSIDE, StopRequest.USER, RunStatus.STOPPED, "did not answer"),
        (Cause.OUTSIDE, StopRequest.SERVER, RunStatus.INTERRUPTED, "shut down"),
    ],
)
def test_the_status_after_a_lost_worker_follows_from_the_cause(
    cause: Cause, requested: StopRequest | None, status: RunStatus, words: str
) -> None:
    ending = endings.lost(Exit(cause, "it did something", "SIGKILL"), requested)

    assert ending.status is status
    assert words in ending.message


def test_a_used_up_budget_completes_a_run_without_an_error() -> None:
    ending = endings.finished("budget", None, DONE, 2_048)

    assert ending.status is RunStatus.COMPLETED
    assert ending.message == "Training complete: 2,048 steps in 3.2 s."
    assert ending.error is None


def test_the_status_after_a_stop_depends_on_who_requested_it() -> None:
    assert endings.finished("stopped", StopRequest.USER, DONE, None).status is RunStatus.STOPPED
    assert (
        endings.finished("stopped", StopRequest.SERVER, DONE, None).status is RunStatus.INTERRUPTED
    )


def test_a_full_disk_interrupts_a_run_with_the_reason() -> None:
    ending = endings.disk_error(OSError(28, "No space left on device"))

    assert ending.status is RunStatus.INTERRUPTED
    assert "No space left on device" in ending.message


def test_the_message_of_a_stopped_run_names_the_step_it_can_be_resumed_from() -> None:
    ending = endings.finished("stopped", StopRequest.USER, DONE, 1_024)

    assert ending.message == (
        "Stopped after 2,048 steps. The model was saved. It can be resumed from step 1,024."
    )
