"""In-memory directory of users, with their limits and the lab-wide rules."""

from dataclasses import dataclass
from typing import Any

from app.core import StorageThread
from storage.database.accounts import lab_settings, users
from storage.records import Registration, UserRecord


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """Limits of one user; None: no limit."""

    runs_at_once: int | None
    disk_mb: int | None


class Directory:
    """Keeps users and lab-wide rules in memory: a lab has dozens, and every request needs them."""

    def __init__(self, storage: StorageThread, registration: Registration) -> None:
        self._storage = storage
        self._users: dict[str, UserRecord] = {}
        self._rules: dict[str, Any] = {}
        self._default_registration = registration

    def read(self) -> None:
        """Load users and rules from the database; blocks, so only for start-up."""
        self._users = {user.id: user for user in self._storage.call(users.list_users)}
        self._rules = self._storage.call(lab_settings.read_lab_settings)

    @property
    def all_users(self) -> tuple[UserRecord, ...]:
        """All users, in order of registration."""
        return tuple(self._users.values())

    @property
    def registration(self) -> Registration:
        """Who may create an account: the administrators' rule, else the setting of the server."""
        return Registration(self._rules.get("registration", self._default_registration))

    @property
    def default_limits(self) -> Limits:
        """Limits of users who have no limits of their own."""
        return Limits(
            runs_at_once=self._rules.get("runs_at_once"), disk_mb=self._rules.get("disk_mb")
        )

    async def set_rule(self, name: str, value: object) -> None:
        """Set a rule for the whole lab."""
        await self._storage(lab_settings.save_lab_setting, name, value)
        self._rules[name] = value

    def get(self, user_id: str | None) -> UserRecord | None:
        """Return the user with this id, if any."""
        return None if user_id is None else self._users.get(user_id)

    def find(self, email: str) -> UserRecord | None:
        """Return the user with this address, if any."""
        return next((user for user in self._users.values() if user.email == email), None)

    def put(self, user: UserRecord) -> UserRecord:
        """Add or update a user."""
        self._users[user.id] = user
        return user

    def email_of(self, user_id: str | None) -> str | None:
        """Return a user's address, if the user exists."""
        user = self.get(user_id)
        return None if user is None else user.email

    def limits_of(self, user_id: str | None) -> Limits:
        """Return a user's own limits, completed by the default ones."""
        user, default = self.get(user_id), self.default_limits
        if user is None:
            return Limits(runs_at_once=None, disk_mb=None)
        return Limits(
            runs_at_once=default.runs_at_once if user.runs_at_once is None else user.runs_at_once,
            disk_mb=default.disk_mb if user.disk_mb is None else user.disk_mb,
        )
