"""What storage refuses, each with a sentence for a person."""

from storage.records import RunStatus


class StorageError(Exception):
    """The lab's memory can't be opened or written."""


class DatabaseTooNewError(StorageError):
    """The database was written by a newer version of the program."""

    def __init__(self, found: int, known: int) -> None:
        super().__init__(
            f"The database has version {found}, this program knows up to {known}. "
            "Update the program, or choose another folder with --runs-dir."
        )


class DatabaseUnusableError(StorageError):
    """The database can't be opened or read."""

    def __init__(self, path: str, reason: str) -> None:
        super().__init__(f"The database {path} can't be used ({reason}). Is it a lab's database?")


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


class RunNotFoundError(LookupError):
    """No run has the requested id."""

    def __init__(self, run_id: str) -> None:
        super().__init__(f"There is no run {run_id[:40]!r}.")


class WrongStateError(ValueError):
    """A run was asked for something that its status doesn't allow."""

    def __init__(self, run_id: str, status: RunStatus, wish: str) -> None:
        super().__init__(f"Run {run_id} is {status} and can't {wish}.")


class BadCursorError(ValueError):
    """A list's cursor isn't one that a list gave out."""

    def __init__(self) -> None:
        super().__init__("The cursor is not valid. Take it from the `next` of the last answer.")
