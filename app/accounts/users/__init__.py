"""Users and their accounts: profiles, avatars, administration, password resets."""

from app.accounts.users.accounts import Accounts
from app.accounts.users.administration import Administration
from app.accounts.users.avatars import MAX_AVATAR_BYTES, Avatars, avatar_url
from app.accounts.users.password_resets import RESET_LASTS, Resets, new_reset_code
from app.accounts.users.profiles import Profiles

__all__ = [
    "MAX_AVATAR_BYTES",
    "RESET_LASTS",
    "Accounts",
    "Administration",
    "Avatars",
    "Profiles",
    "Resets",
    "avatar_url",
    "new_reset_code",
]
