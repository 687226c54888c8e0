"""Routes of accounts: sign-in, the user's own account, administration."""

from app.api.accounts import (
    admin,
    auth,
    me,
)

ROUTERS = (
    auth.router,
    me.router,
    admin.router,
    me.users_router,
)
