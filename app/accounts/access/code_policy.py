"""Who may give code to the lab: by how well workers are locked in here, and by who asks.

Code is whatever a worker would run for somebody: reward functions, evaluation code, environments,
and the models and bundles of strangers, which may carry code of their own.
"""

from collections.abc import Awaitable, Callable, Iterable
from dataclasses import dataclass

from app.accounts.auth.audit_log import NOBODY, AuditLog
from app.accounts.errors import AccessError
from app.accounts.requests import plain_email
from app.accounts.visitors import Visitor
from app.workers.sandbox_check import Sandbox, SandboxLevel
from storage.records.accounts import PersonRecord

UNLOCKED = "Code runs unlocked"
"""What every page says for as long as code runs with the server's rights."""

_WAY_OUT = "Run the lab on Linux with Landlock and seccomp; docs/security.md tells how."


class CodeRefusedError(AccessError):
    """Workers aren't locked in well enough here to run this person's code."""

    code = "code_refused"


@dataclass(frozen=True, slots=True)
class CodeRules:
    """What whoever runs the server has decided about code."""

    unlocked: bool = False
    """Let administrators give code although nothing locks workers in."""
    trusted: frozenset[str] = frozenset()
    """Addresses of people who may do at level partial what administrators may."""

    @classmethod
    def of(cls, *, unlocked: bool, trusted: Iterable[str]) -> "CodeRules":
        """Build them from settings."""
        return cls(unlocked, frozenset(plain_email(address) for address in trusted))

    def refusal(self, sandbox: Sandbox, giver: PersonRecord | None) -> str | None:
        """Say why code of somebody who may work isn't run, None if it is; None has no account."""
        is_admin = giver is None or giver.is_admin
        match sandbox.level:
            case SandboxLevel.FULL:
                return None
            case SandboxLevel.PARTIAL if giver is None or is_admin or giver.email in self.trusted:
                return None
            case SandboxLevel.PARTIAL:
                doors = ", ".join(sandbox.open_doors)
                return (
                    f"Workers are only partly locked in here (open: {doors}), so code comes from "
                    "administrators and from people in RL_LAB_TRUSTED. Ask an administrator."
                )
        if not is_admin:
            return f"Nothing locks workers in here, so nobody's code is run. {_WAY_OUT}"
        if not self.unlocked:
            return (
                "Nothing locks workers in here: code would run with all rights of the server. "
                f"{_WAY_OUT} Or set RL_LAB_UNLOCKED_CODE=1 if that is what you want."
            )
        return None

    def unlocks(self, sandbox: Sandbox) -> bool:
        """Whether code runs here with nothing around it."""
        return self.unlocked and sandbox.level is SandboxLevel.NONE


class CodePolicy:
    """Decides, each time somebody gives code, and notes what ran without a lock."""

    def __init__(
        self, rules: CodeRules, sandbox: Callable[[], Awaitable[Sandbox]], audit: AuditLog
    ) -> None:
        self.rules = rules
        self._sandbox = sandbox
        self._audit = audit

    async def announce(self, sandbox: Sandbox) -> None:
        """Note at the start that code will run with nothing around it."""
        if self.rules.unlocks(sandbox):
            await self._audit.note_as(NOBODY, "code_unlocked", data={"by": "RL_LAB_UNLOCKED_CODE"})

    async def refusal(self, visitor: Visitor) -> str | None:
        """Say why a visitor may not give code, for pages that then don't offer it."""
        try:
            visitor.check_works()
        except AccessError as error:
            return str(error)
        return await self.refusal_of(visitor.person)

    async def refusal_of(self, giver: PersonRecord | None) -> str | None:
        """Say why code that somebody gave before may not run; the lock may be worse by now."""
        return self.rules.refusal(await self._sandbox(), giver)

    async def check(self, visitor: Visitor, what: str) -> None:
        """Make sure that a visitor may give code; `what` names it in the audit log.

        Raises:
            AccessError: if they may not, with the reason.
        """
        visitor.check_works()
        sandbox = await self._sandbox()
        if (reason := self.rules.refusal(sandbox, visitor.person)) is not None:
            raise CodeRefusedError(reason)
        if self.rules.unlocks(sandbox):
            await self._audit.note(visitor, "code_given_unlocked", what)
