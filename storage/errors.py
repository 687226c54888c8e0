"""Errors of storage, and the base class of all errors that the lab reports to clients."""

from collections.abc import Sequence
from http import HTTPStatus

from storage.records import RunStatus


class LabError(Exception):
    """The lab refuses a request: the message is for users, the attributes are for programs.

    Pages, the CLI and the API catch this class. Its `status` is an HTTP status because that is a
    well-known list of reasons.
    """

    status = HTTPStatus.UNPROCESSABLE_ENTITY
    code = "invalid_value"
    retry_after_s: int | None = None
    """Seconds after which a retry may succeed, if any."""

    def __init__(self, message: str, *, field: str | None = None) -> None:
        super().__init__(message)
        self.field = field


class NotFoundError(LabError, LookupError):
    """The requested object does not exist."""

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
    """A database opened for reading lacks migrations of this version."""

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
    """The PostgreSQL driver isn't installed."""

    def __init__(self) -> None:
        super().__init__(
            "PostgreSQL needs a package that isn't installed. Install it with: .venv/bin/pip "
            "install --editable '.[postgresql]'"
        )


class NotWrittenError(LabError, StorageError):
    """The database is temporarily unavailable; a later retry may succeed."""

    status = HTTPStatus.SERVICE_UNAVAILABLE
    code = "not_written"

    def __init__(self, reason: str = "") -> None:
        super().__init__(f"The database can't be used right now ({reason}). Try again in a moment.")


class DatabaseLockedError(NotWrittenError):
    """Another program has locked the database."""

    def __init__(self) -> None:
        super().__init__("another program has locked it")


class DiskFullError(NotWrittenError):
    """The disk of the database is full."""

    def __init__(self) -> None:
        super().__init__("the disk is full")


class VersionNotFoundError(NotFoundError, StorageError):
    """A run has no checkpoint of this name."""

    def __init__(self, name: str) -> None:
        super().__init__(
            f"The run has no checkpoint {name[:80]!r}. GET .../artifacts lists what it has; the "
            "final and the best model are always kept."
        )


class RunsFolderInUseError(StorageError):
    """Another server uses this runs folder."""

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
    """Several run ids have the requested prefix."""

    def __init__(self, prefix: str, ids: Sequence[str]) -> None:
        super().__init__(
            f"Several runs begin with {prefix[:40]!r}: {', '.join(ids)}. Give more of the id."
        )


class WrongStateError(LabError, ValueError):
    """The status of a run doesn't allow the requested action."""

    status = HTTPStatus.CONFLICT
    code = "wrong_state"

    def __init__(self, run_id: str, status: RunStatus, action: str) -> None:
        super().__init__(f"Run {run_id} is {status} and can't {action}.")


class BadCursorError(LabError, ValueError):
    """The cursor was not issued for this list."""

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


class UserNotFoundError(NotFoundError):
    """No user has the requested id."""

    def __init__(self, user_id: str) -> None:
        super().__init__(f"There is no user with the id {user_id[:40]!r}.")


class EmailTakenError(LabError, ValueError):
    """A user with this address or external account exists already."""

    code = "email_taken"

    def __init__(self, email: str) -> None:
        super().__init__(f"{email[:254]} is already in use.")


class InvitationGoneError(NotFoundError):
    """The invitation was used or revoked in the meantime."""

    def __init__(self) -> None:
        super().__init__("The invitation no longer exists.")


class LastAdminError(LabError, ValueError):
    """The change would leave the lab without an administrator."""

    status = HTTPStatus.CONFLICT
    code = "last_admin"

    def __init__(self) -> None:
        super().__init__(
            "The last administrator can't be demoted. Make another user an administrator first."
        )
