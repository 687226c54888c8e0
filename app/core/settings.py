"""Every flag and environment variable of the program, in one place."""

import argparse
import os
import socket
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields
from ipaddress import ip_address
from pathlib import Path
from types import MappingProxyType
from typing import Any, NoReturn, TypeVar

import psutil

from app.core.errors import SettingsError
from app.core.settings_checks import POSTGRESQL, SQLITE, check
from storage.files import LabFolder
from storage.records import Registration

_ANY_ADDRESS = {"0.0.0.0", "::"}

_T = TypeVar("_T")


def setting(
    default: _T,
    *,
    help: str,
    flag: str | None = None,
    variable: str | None = None,
    least: int | None = None,
    most: int | None = None,
    secret: bool = False,
) -> _T:
    """Declare a setting; its variable is RL_LAB_<FIELD> unless `variable` names another."""
    about = {"help": help, "flag": flag, "fixed_variable": variable, "least": least, "most": most}
    return field(default=default, repr=not secret, metadata=about)


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """Settings of the server. A flag overrides a variable, a variable overrides the default."""

    # Formatted as a table: the source of each value on the first line, its meaning below.
    # fmt: off
    host: str = setting("127.0.0.1", flag="--host", help="address to listen on")
    port: int = setting(8080, flag="--port", least=1, most=65_535, help="port to listen on")
    runs_dir: Path = setting(Path("runs"), variable="RL_LAB_RUNS", flag="--runs-dir",  # noqa: RUF009
        help="folder for the database and the files of all runs")
    database: str = setting("",
        help="database, as sqlite:///path or postgresql://...; empty: lab.db in the runs folder")
    workers: int = setting(max(1, (os.cpu_count() or 1) - 1), flag="--workers", least=1, most=256,
        help="runs that may train concurrently; the others wait in the queue")
    auth: str = setting("auto", flag="--auth",
        help="accounts: on, off, or auto: only if others can reach the server")
    registration: str = setting("",
        help="who may create an account, until changed on the page: open, invite or closed")
    secret: str = setting("", secret=True,
        help="key that encrypts tokens at rest; empty: .secret in the runs folder, created once")
    bcrypt_cost: int = setting(12, least=4, most=16,
        help="bcrypt cost of passwords; one more doubles the time of a check")
    cert: str = setting("", flag="--cert", help="certificate file for https, together with --key")
    key: str = setting("", flag="--key", help="private key file for https, together with --cert")
    proxy: str = setting("", flag="--proxy",
        help="address of the reverse proxy, whose forwarded headers alone are trusted")
    github_id: str = setting("", help="client id of a GitHub OAuth app, for sign-in")
    github_secret: str = setting("", secret=True, help="its client secret")
    github_url: str = setting("https://github.com", help="address of a GitHub Enterprise server")
    google_id: str = setting("", help="client id of a Google OAuth app, for sign-in")
    google_secret: str = setting("", secret=True, help="its client secret")
    oidc_issuer: str = setting("",
        help="issuer of an OpenID Connect provider, for sign-in")
    oidc_id: str = setting("", help="its client id")
    oidc_secret: str = setting("", secret=True, help="its client secret")
    oidc_name: str = setting("single sign-on", help="name on its button: Sign in with ...")
    hosts: tuple[str, ...] = setting((), help=("additional host names of this server, "
"separated by commas"))
    browser: bool = setting(True, flag="--no-browser",
        help="open the page in a browser at start-up (1) or not (0)")
    viewers: int = setting(2, least=0, most=64,
        help=("live views, previews and evaluations that may run concurrently; evaluations "
"come first"))
    worker_memory: int = setting(3072, least=512,
        help="megabytes of memory that one worker may use")
    worker_silence: float = setting(60.0, least=5,
        help="seconds of silence after which a worker is ended")
    keep_checkpoints: int = setting(3, least=1,
        help="newest checkpoints kept per run")
    videos_kept: int = setting(3, variable="RL_LAB_KEEP_EVALUATIONS", least=1,
        help="newest videos kept per run; pinned ones are kept anyway")
    clips: int = setting(20, least=0, most=100,
        help="time machine clips kept per run; 0 disables the time machine")
    auto_resume: bool = setting(False,
        help="resume interrupted runs when the server starts (1) or not (0)")
    trusted: tuple[str, ...] = setting((),
        help="addresses of users who may run code where the sandbox is partial, like admins")
    unlocked_code: bool = setting(False,
        help="run administrators' code with the server's permissions if there is no sandbox (1)")
    # fmt: on

    @property
    def runs_folder(self) -> LabFolder:
        """The folder that holds the database and the files of all runs."""
        return LabFolder(self.runs_dir.resolve())

    @property
    def database_address(self) -> Path | str:
        """The path of the SQLite file, or the address of the PostgreSQL database."""
        if self.database.startswith(POSTGRESQL):
            return self.database
        path = self.database.removeprefix(SQLITE)
        return Path(path) if path else self.runs_folder.database

    @property
    def is_loopback(self) -> bool:
        """Whether only this machine can reach the server."""
        if self.host == "localhost":
            return True
        try:
            return ip_address(self.host).is_loopback
        except ValueError:
            return False

    @property
    def is_reachable(self) -> bool:
        """Whether other machines can reach the server."""
        return not self.is_loopback or bool(self.proxy)

    @property
    def has_accounts(self) -> bool:
        """Whether users have to sign in."""
        return self.auth == "on" or (self.auth == "auto" and self.is_reachable)

    @property
    def default_registration(self) -> Registration:
        """Who may create an account, until an administrator changes it."""
        default = Registration.INVITE if self.is_reachable else Registration.OPEN
        return Registration(self.registration) if self.registration else default

    @property
    def has_tls(self) -> bool:
        """Whether the server itself serves https."""
        return bool(self.cert)

    @property
    def allowed_hosts(self) -> frozenset[str]:
        """Host names under which a browser may address the server."""
        names = {self.host, "localhost", "127.0.0.1", "::1"}
        if self.host in _ANY_ADDRESS:
            names |= _addresses_of_this_machine()
        return frozenset(host.lower() for host in (*names, *self.hosts))


@dataclass(frozen=True, slots=True, kw_only=True)
class Setting:
    """Declaration of one setting: its sources, bounds and meaning."""

    field: str
    default: object
    help: str
    flag: str | None
    fixed_variable: str | None
    least: int | None
    most: int | None

    @property
    def variable(self) -> str:
        """The environment variable that sets it."""
        return self.fixed_variable or f"RL_LAB_{self.field.upper()}"


SETTINGS: tuple[Setting, ...] = tuple(
    Setting(field=item.name, default=item.default, **item.metadata) for item in fields(Settings)
)


def read_settings(
    arguments: Sequence[str],
    environment: Mapping[str, str],
    *,
    commands: Mapping[str, str] = MappingProxyType({}),
) -> Settings:
    """Read the settings from flags, environment variables and defaults.

    Raises:
        SettingsError: if a value is invalid.
    """
    flags = vars(_parser(commands).parse_args(arguments))
    if (command := flags["command"]) != "serve":
        raise SettingsError(
            f"The command comes first: python main.py {command} --help has details."
        )
    values: dict[str, Any] = {}
    for declared in SETTINGS:
        raw = flags.get(declared.field)
        source = declared.flag if raw is not None else declared.variable
        raw = raw if raw is not None else environment.get(declared.variable)
        if raw is not None:
            values[declared.field] = _convert(declared, raw, source or declared.variable)
    settings = Settings(**values)
    check(settings)
    return settings


class SentenceParser(argparse.ArgumentParser):
    """An argument parser that reports a wrong flag as one sentence."""

    def error(self, message: str) -> NoReturn:
        """Raise a `SettingsError` that names the problem and the help flag."""
        raise SettingsError(f"{message[:1].upper()}{message[1:]}. See {self.prog} --help.")


def _parser(commands: Mapping[str, str]) -> argparse.ArgumentParser:
    listed = "\n".join(f"  {name:16}{summary}" for name, summary in commands.items())
    parser = SentenceParser(
        prog="python main.py",
        description="Serve the lab on a web page.",
        epilog=f"Without a web page:\n{listed}\nEach has its own --help.",
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    names = ["serve", *commands]
    parser.add_argument(
        "command",
        nargs="?",
        choices=names,
        default="serve",
        help="serve (default) or one of the commands below",
    )
    for declared in SETTINGS:
        if declared.field == "browser":
            parser.add_argument("--no-browser", dest="browser", action="store_const", const="0",
                                help="don't open the page in a browser")  # fmt: skip
        elif declared.flag:
            parser.add_argument(declared.flag, dest=declared.field, help=declared.help)
    return parser


def _convert(declared: Setting, raw: str, source: str) -> object:
    match declared.default:
        case bool():
            return _boolean(raw, source)
        case int() | float() as default:
            return _number(declared, raw, source, type(default))
        case Path():
            return Path(raw)
        case tuple():
            return tuple(part.strip() for part in raw.split(",") if part.strip())
        case _:
            return raw


def _boolean(raw: str, source: str) -> bool:
    if raw not in {"0", "1"}:
        raise SettingsError(f"{source} must be 0 or 1, got {raw!r}.")
    return raw == "1"


def _number(declared: Setting, raw: str, source: str, kind: type[int | float]) -> float:
    least, most = declared.least or 0, declared.most
    try:
        number = kind(raw)
    except ValueError:
        number = least - 1
    if not number >= least or (most is not None and number > most):
        upper = f" to {most}" if most is not None else " upwards"
        raise SettingsError(f"{source} must be a number from {least}{upper}, got {raw!r}.")
    return number


def _addresses_of_this_machine() -> set[str]:
    """Return its host name and all addresses: a server bound to all is reachable by each."""
    found = {item.address for items in psutil.net_if_addrs().values() for item in items}
    return {socket.gethostname(), *(address.partition("%")[0] for address in found)}
