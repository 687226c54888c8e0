"""Everybody at hand: who is who, and what each may use."""

from dataclasses import dataclass
from typing import Any

from app.core.storage_thread import StorageThread
from storage.database.accounts import lab_settings, people
from storage.records.accounts import PersonRecord, Registration


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """What one person may use; None: no limit."""

    runs_at_once: int | None
    disk_mb: int | None


class Directory:
    """Keeps people and the lab's rules in memory; a lab has dozens, and every request asks."""

    def __init__(self, storage: StorageThread, registration: Registration) -> None:
        self._storage = storage
        self._people: dict[str, PersonRecord] = {}
        self._rules: dict[str, Any] = {}
        self._usual_registration = registration

    def read(self) -> None:
        """Read everybody, before anybody can ask."""
        self._people = {person.id: person for person in self._storage.call(people.list_people)}
        self._rules = self._storage.call(lab_settings.read_lab_settings)

    @property
    def everybody(self) -> tuple[PersonRecord, ...]:
        """All people, in the order of their coming."""
        return tuple(self._people.values())

    @property
    def registration(self) -> Registration:
        """Who may make an account: as an administrator set it, else as the server was started."""
        return Registration(self._rules.get("registration", self._usual_registration))

    @property
    def usual_limits(self) -> Limits:
        """What people may use who have no limits of their own."""
        return Limits(
            runs_at_once=self._rules.get("runs_at_once"), disk_mb=self._rules.get("disk_mb")
        )

    async def set_rule(self, name: str, value: object) -> None:
        """Set a rule for the whole lab."""
        await self._storage(lab_settings.save_lab_setting, name, value)
        self._rules[name] = value

    def get(self, person_id: str | None) -> PersonRecord | None:
        """Return who has this id, if anybody has."""
        return None if person_id is None else self._people.get(person_id)

    def find(self, email: str) -> PersonRecord | None:
        """Return who has this address, if anybody has."""
        return next((person for person in self._people.values() if person.email == email), None)

    def put(self, person: PersonRecord) -> PersonRecord:
        """Remember somebody as they are now."""
        self._people[person.id] = person
        return person

    def email_of(self, person_id: str | None) -> str | None:
        """Return somebody's address."""
        person = self.get(person_id)
        return None if person is None else person.email

    def limits_of(self, person_id: str | None) -> Limits:
        """Return what somebody may use."""
        person, usual = self.get(person_id), self.usual_limits
        if person is None:
            return Limits(runs_at_once=None, disk_mb=None)
        return Limits(
            runs_at_once=usual.runs_at_once if person.runs_at_once is None else person.runs_at_once,
            disk_mb=usual.disk_mb if person.disk_mb is None else person.disk_mb,
        )
