"""Let somebody join: the person, their account elsewhere and their invitation in one step."""

from dataclasses import dataclass

from storage.database.accounts.invitations import use_invitation
from storage.database.accounts.people import add_identity, add_person
from storage.database.database import in_one_step
from storage.errors import InvitationGoneError
from storage.records.accounts import PersonRecord, Role


@dataclass(frozen=True, slots=True, kw_only=True)
class NewIdentity:
    """An account elsewhere that is to stand for somebody."""

    issuer: str
    subject: str
    provider: str


def join(
    *,
    email: str,
    name: str,
    role: Role,
    password_hash: str | None = None,
    identity: NewIdentity | None = None,
    invitation_id: str | None = None,
) -> PersonRecord:
    """Add somebody with all that belongs to their coming, or nothing of it.

    Raises:
        EmailTakenError: if somebody has this address, or this account elsewhere.
        InvitationGoneError: if the invitation was used or revoked meanwhile.
    """
    with in_one_step():
        person = add_person(email=email, name=name, role=role, password_hash=password_hash)
        if identity is not None:
            add_identity(
                identity.issuer,
                identity.subject,
                person_id=person.id,
                provider=identity.provider,
            )
        if invitation_id is not None and not use_invitation(invitation_id, email):
            raise InvitationGoneError
    return person
