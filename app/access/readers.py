"""A run's owner and readers by e-mail address, as far as a principal may know them."""

from collections.abc import Iterable, Sequence

from app.accounts import Directory, Principal, plain_email
from app.core import InputError
from storage.database import rights
from storage.records import ChangeableRun, RunRecord


class Readers:
    """Translates between the user ids stored in runs and e-mail addresses."""

    def __init__(self, principal: Principal, directory: Directory) -> None:
        self._principal = principal
        self._directory = directory

    def owner_of(self, run: RunRecord) -> str | None:
        """Return the address of a run's owner."""
        return self._directory.email_of(run.owner)

    def shared_with(self, run: RunRecord) -> Sequence[str] | None:
        """Return whom a run is shared with, or None if the principal may not change that."""
        user = self._principal.user
        if user is None or not rights(user, run).change:
            return None
        return self.addresses(run.shared_with)

    def addresses(self, user_ids: Iterable[str]) -> Sequence[str]:
        """Return the addresses of users who still exist."""
        found = (self._directory.email_of(user_id) for user_id in user_ids)
        return [email for email in found if email is not None]

    def ids(self, run: ChangeableRun, addresses: Sequence[str]) -> Sequence[str]:
        """Return the ids of users with whom a run is to be shared.

        Raises:
            InputError: if an address belongs to no user.
            AccountsOffError: if the server has no accounts.
        """
        found = dict.fromkeys(self._id(address) for address in addresses)
        self._principal.me  # noqa: B018 - raises where the server has no accounts
        return [user_id for user_id in found if user_id != run.owner]

    def _id(self, address: str) -> str:
        user = self._directory.find(plain_email(address))
        if user is None:
            problem = f"There is no user with the address {address[:80]!r}."
            raise InputError(problem, field="shared_with")
        return user.id
