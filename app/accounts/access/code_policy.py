"""Who may submit code to the lab, depending on the user and on the sandbox of this machine.

Code is whatever a worker runs for a user: reward functions, evaluation code, environments, and
imported models and bundles, which may contain code of their own.
"""

from collections.abc import Awaitable, Callable, Iterable
from dataclasses import dataclass

from app.accounts import AccessError, Principal, plain_email
from app.accounts.auth import NO_USER, AuditLog
from app.workers import Sandbox, SandboxLevel
from storage.records import UserRecord

UNLOCKED = "No sandbox for user code"
"""Warning on every page while user code runs with the server's permissions."""

_WAY_OUT = "Run the lab on Linux with Landlock and seccomp; see docs/security.md."


class CodeRefusedError(AccessError):
    """The sandbox of this machine does not suffice to run this user's code."""

    code = "code_refused"


@dataclass(frozen=True, slots=True)
class CodeRules:
    """The operator's settings about user code."""

    unlocked: bool = False
    """Whether administrators may submit code although there is no sandbox."""
    trusted: frozenset[str] = frozenset()
    """Addresses of users who may submit code like administrators if the sandbox is partial."""

    @classmethod
    def of(cls, *, unlocked: bool, trusted: Iterable[str]) -> "CodeRules":
        """Build them from settings."""
        return cls(unlocked, frozenset(plain_email(address) for address in trusted))

    def refusal(self, sandbox: Sandbox, author: UserRecord | None) -> str | None:
        """Return why the author's code is refused, or None if it may run.

        `author` is None where accounts are off; a viewer's role is not checked here.
        """
        is_admin = author is None or author.is_admin
        match sandbox.level:
            case SandboxLevel.FULL:
                return None
            case SandboxLevel.PARTIAL if author is None or is_admin or author.email in self.trusted:
                return None
            case SandboxLevel.PARTIAL:
                unrestricted = ", ".join(sandbox.escapes)
                return (
                    f"The sandbox is only partial here (not restricted: {unrestricted}), so only "
                    f"administrators and users in RL_LAB_TRUSTED may run code. Ask an "
                    f"administrator."
                )
        if not is_admin:
            return f"There is no sandbox here, so user code is not run. {_WAY_OUT}"
        if not self.unlocked:
            return (
                "There is no sandbox here: code would run with all permissions of the server. "
                f"{_WAY_OUT} Or set RL_LAB_UNLOCKED_CODE=1 to allow that."
            )
        return None

    def unlocks(self, sandbox: Sandbox) -> bool:
        """Whether code runs here without a sandbox."""
        return self.unlocked and sandbox.level is SandboxLevel.NONE


class CodePolicy:
    """Checks each submission of code, and logs code that runs without a sandbox."""

    def __init__(
        self, rules: CodeRules, sandbox: Callable[[], Awaitable[Sandbox]], audit: AuditLog
    ) -> None:
        self.rules = rules
        self._sandbox = sandbox
        self._audit = audit

    async def announce(self, sandbox: Sandbox) -> None:
        """Log at start-up if code will run without a sandbox."""
        if self.rules.unlocks(sandbox):
            await self._audit.note_as(NO_USER, "code_unlocked", data={"by": "RL_LAB_UNLOCKED_CODE"})

    async def refusal(self, principal: Principal) -> str | None:
        """Return why a principal may not submit code, so that pages can hide the feature."""
        try:
            principal.check_works()
        except AccessError as error:
            return str(error)
        return await self.refusal_of(principal.user)

    async def refusal_of(self, author: UserRecord | None) -> str | None:
        """Return why code submitted earlier may not run; the sandbox may be weaker by now."""
        return self.rules.refusal(await self._sandbox(), author)

    async def check(self, principal: Principal, what: str) -> None:
        """Check that a principal may submit code; `what` names it in the audit log.

        Raises:
            AccessError: if they may not, with the reason.
        """
        principal.check_works()
        sandbox = await self._sandbox()
        if (reason := self.rules.refusal(sandbox, principal.user)) is not None:
            raise CodeRefusedError(reason)
        if self.rules.unlocks(sandbox):
            await self._audit.note(principal, "code_given_unlocked", what)
