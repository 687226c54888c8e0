"""Create a user with an external account and an invitation in one transaction."""

from dataclasses import dataclass

from storage import InvitationGoneError
from storage.database import transaction
from storage.database.accounts.invitations import use_invitation
from storage.database.accounts.users import add_identity, add_user
from storage.records import Role, UserRecord


@dataclass(frozen=True, slots=True, kw_only=True)
class NewIdentity:
    """An external account for a new user."""

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
) -> UserRecord:
    """Add a user with their external account, and mark the invitation as used, atomically.

    Raises:
        EmailTakenError: if another user has this address or external account.
        InvitationGoneError: if the invitation was used or revoked in the meantime.
    """
    with transaction():
        user = add_user(email=email, name=name, role=role, password_hash=password_hash)
        if identity is not None:
            add_identity(
                identity.issuer,
                identity.subject,
                user_id=user.id,
                provider=identity.provider,
            )
        if invitation_id is not None and not use_invitation(invitation_id, email):
            raise InvitationGoneError
    return user
