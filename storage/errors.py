"""What storage refuses, and the base of everything that the lab refuses."""

from collections.abc import Sequence
from http import HTTPStatus

from storage.records.runs import RunStatus


class LabError(Exception):
    """The lab refuses something: a sentence for people, the rest for programs.

    Whoever serves people or programs catches this class. Its status is HTTP's, because that is the
    list of reasons everybody knows.
    """

    status = HTTPStatus.UNPROCESSABLE_ENTITY
    code = "invalid_value"
    retry_after_s: int | None = None
    """When to try again, where that may help."""

    def __init__(self, message: str, *, field: str | None = None) -> None:
        super().__init__(message)
        self.field = field


class NotFoundError(LabError, LookupError):
    """There is nothing of this name."""

    status = HTTPStatus.NOT_FOUND
    code = "not_found"


class StorageError(Exception):
    """The lab's database or folder can't be opened or written."""


class DatabaseTooNewError(StorageError):
    """The database was written by a newer version of the program."""

    def __init__(self, found: int, known: int) -> None:
        super().__init__(
            f"The database has version {found}, this program knows up to {known}. "
            "Update the program, or choose another folder with --runs-dir."
        )


class DatabaseTooOldError(StorageError):
    """The database lacks what newer versions of the program added, and may only be read."""

    def __init__(self, found: int, known: int) -> None:
        super().__init__(
            f"The database has version {found}, this program needs {known}. "
            "Start the server once with python main.py: it brings the database up to date."
        )


class DatabaseUnusableError(StorageError):
    """The database can't be opened or read."""

    def __init__(self, path: str, reason: str) -> None:
        super().__init__(f"The database {path} can't be used ({reason}). Is it a lab's database?")


class DriverMissingError(StorageError):
    """The package that speaks to PostgreSQL isn't installed."""

    def __init__(self) -> None:
        super().__init__(
            "PostgreSQL needs a package that isn't installed. "
            "Add it with: .venv/bin/pip install --editable '.[postgresql]'"
        )


class NotWrittenError(LabError, StorageError):
    """The database can't take anything in right now; later it may."""

    status = HTTPStatus.SERVICE_UNAVAILABLE
    code = "not_written"

    def __init__(self, reason: str = "") -> None:
        super().__init__(f"The database can't be used right now ({reason}). Try again in a moment.")


class DatabaseLockedError(NotWrittenError):
    """Another program has locked the database."""

    def __init__(self) -> None:
        super().__init__("another program has locked it")


class DiskFullError(NotWrittenError):
    """There is no room for the database."""

    def __init__(self) -> None:
        super().__init__("the disk is full")


class VersionNotFoundError(NotFoundError, StorageError):
    """A run has no checkpoint of this name."""

    def __init__(self, name: str) -> None:
        super().__init__(
            f"The run has no checkpoint {name[:80]!r}. GET .../artifacts lists what it has; the "
            "final and the best model stay by themselves."
        )


class RunsFolderInUseError(StorageError):
    """Another server works in this runs folder."""

    def __init__(self, folder: str) -> None:
        super().__init__(
            f"The runs folder {folder} is in use by another server. "
            "Stop that one, or choose another folder with --runs-dir."
        )


class RunsFolderNotWritableError(StorageError):
    """The runs folder can't be created or written."""

    def __init__(self, folder: str, reason: str) -> None:
        super().__init__(
            f"The runs folder {folder} can't be written ({reason}). "
            "Choose another folder with --runs-dir."
        )


class RunNotFoundError(NotFoundError):
    """No run has the requested id."""

    def __init__(self, run_id: str) -> None:
        super().__init__(f"There is no run {run_id[:40]!r}.")


class AmbiguousRunError(NotFoundError):
    """Several runs have ids that begin as requested."""

    def __init__(self, beginning: str, ids: Sequence[str]) -> None:
        super().__init__(
            f"Several runs begin with {beginning[:40]!r}: {', '.join(ids)}. Give more of the id."
        )


class WrongStateError(LabError, ValueError):
    """A run was asked for something that its status doesn't allow."""

    status = HTTPStatus.CONFLICT
    code = "wrong_state"

    def __init__(self, run_id: str, status: RunStatus, wish: str) -> None:
        super().__init__(f"Run {run_id} is {status} and can't {wish}.")


class BadCursorError(LabError, ValueError):
    """A list's cursor isn't one that a list gave out."""

    def __init__(self) -> None:
        super().__init__(
            "The cursor is not valid. Take it from the `next` of the last answer.", field="cursor"
        )


class GroupNotFoundError(RunNotFoundError):
    """No seed group has the requested id."""

    def __init__(self, group_id: str) -> None:
        NotFoundError.__init__(self, f"There is no group {group_id[:40]!r}.")


class EvaluationNotFoundError(NotFoundError):
    """A run has no evaluation of the requested id."""

    def __init__(self, evaluation_id: str) -> None:
        super().__init__(f"The run has no evaluation {evaluation_id[:40]!r}.")


class PersonNotFoundError(NotFoundError):
    """Nobody has the requested id."""

    def __init__(self, person_id: str) -> None:
        super().__init__(f"There is nobody with the id {person_id[:40]!r}.")


class EmailTakenError(LabError, ValueError):
    """Somebody has this address already."""

    code = "email_taken"

    def __init__(self, email: str) -> None:
        super().__init__(f"Somebody has the {email[:254]} already.")


class InvitationGoneError(NotFoundError):
    """An invitation was used or revoked by somebody who was quicker."""

    def __init__(self) -> None:
        super().__init__("The invitation is not there any more.")


class LastAdminError(LabError, ValueError):
    """Nobody would look after the lab any more."""

    status = HTTPStatus.CONFLICT
    code = "last_admin"

    def __init__(self) -> None:
        super().__init__("The last administrator stays one. Make somebody else one first.")
