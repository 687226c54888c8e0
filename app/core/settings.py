"""Every flag and environment variable of the program, in one place."""

import argparse
import os
import socket
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields
from ipaddress import ip_address
from pathlib import Path
from types import MappingProxyType
from typing import Any, NoReturn

import psutil

from app.core.errors import SettingsError
from app.core.settings_checks import POSTGRESQL, SQLITE, check
from storage.files.lab_folder import LabFolder
from storage.records.accounts import Registration

_ANY_ADDRESS = {"0.0.0.0", "::"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """How this server runs. A flag beats a variable, a variable beats the default."""

    host: str = "127.0.0.1"
    port: int = 8080
    runs_dir: Path = Path("runs")
    database: str = ""
    workers: int = max(1, (os.cpu_count() or 1) - 1)
    auth: str = "auto"
    registration: str = ""
    secret: str = field(default="", repr=False)
    bcrypt_cost: int = 12
    cert: str = ""
    key: str = ""
    proxy: str = ""
    github_id: str = ""
    github_secret: str = field(default="", repr=False)
    github_url: str = "https://github.com"
    google_id: str = ""
    google_secret: str = field(default="", repr=False)
    oidc_issuer: str = ""
    oidc_id: str = ""
    oidc_secret: str = field(default="", repr=False)
    oidc_name: str = "single sign-on"
    hosts: tuple[str, ...] = ()
    browser: bool = True
    viewers: int = 2
    worker_memory: int = 3072
    worker_silence: float = 60.0
    keep_checkpoints: int = 3
    videos_kept: int = 3
    clips: int = 20
    auto_resume: bool = False
    trusted: tuple[str, ...] = ()
    unlocked_code: bool = False

    @property
    def runs_folder(self) -> LabFolder:
        """The folder that holds everything the lab remembers."""
        return LabFolder(self.runs_dir.resolve())

    @property
    def database_address(self) -> Path | str:
        """Where the SQLite file lies, or how the PostgreSQL database is reached."""
        if self.database.startswith(POSTGRESQL):
            return self.database
        own = self.database.removeprefix(SQLITE)
        return Path(own) if own else self.runs_folder.database

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
        """Whether others than the people at this machine can reach the server."""
        return not self.is_loopback or bool(self.proxy)

    @property
    def has_accounts(self) -> bool:
        """Whether people have to say who they are."""
        return self.auth == "on" or (self.auth == "auto" and self.is_reachable)

    @property
    def usual_registration(self) -> Registration:
        """Who may make an account, until an administrator says otherwise."""
        usual = Registration.INVITE if self.is_reachable else Registration.OPEN
        return Registration(self.registration) if self.registration else usual

    @property
    def has_tls(self) -> bool:
        """Whether the server itself encrypts what it sends."""
        return bool(self.cert)

    @property
    def allowed_hosts(self) -> frozenset[str]:
        """The names under which a browser may address the server."""
        own = {self.host, "localhost", "127.0.0.1", "::1"}
        if self.host in _ANY_ADDRESS:
            own |= _addresses_of_this_machine()
        return frozenset(host.lower() for host in (*own, *self.hosts))


@dataclass(frozen=True, slots=True, kw_only=True)
class Setting:
    """One setting: where it comes from and what it means."""

    field: str
    variable: str
    flag: str | None
    help: str


SETTINGS: tuple[Setting, ...] = (
    Setting(field="host", variable="RL_LAB_HOST", flag="--host", help="address to listen on"),
    Setting(field="port", variable="RL_LAB_PORT", flag="--port", help="port to listen on"),
    Setting(
        field="runs_dir",
        variable="RL_LAB_RUNS",
        flag="--runs-dir",
        help="folder for the database and the files of all runs",
    ),
    Setting(
        field="database",
        variable="RL_LAB_DATABASE",
        flag=None,
        help="database, as sqlite:///path or postgresql://...; empty: lab.db in the runs folder",
    ),
    Setting(
        field="workers",
        variable="RL_LAB_WORKERS",
        flag="--workers",
        help="runs that may train at once; the others wait in the queue",
    ),
    Setting(
        field="auth",
        variable="RL_LAB_AUTH",
        flag="--auth",
        help="accounts: on, off, or auto: only if others can reach the server",
    ),
    Setting(
        field="registration",
        variable="RL_LAB_REGISTRATION",
        flag=None,
        help="who may make an account, until set on the page: open, invite or closed",
    ),
    Setting(
        field="secret",
        variable="RL_LAB_SECRET",
        flag=None,
        help="what encrypts tokens at rest; empty: .secret in the runs folder, made at first",
    ),
    Setting(
        field="bcrypt_cost",
        variable="RL_LAB_BCRYPT_COST",
        flag=None,
        help="how slow it is to try passwords; one more doubles it",
    ),
    Setting(
        field="cert",
        variable="RL_LAB_CERT",
        flag="--cert",
        help="certificate file for https, together with --key",
    ),
    Setting(
        field="key",
        variable="RL_LAB_KEY",
        flag="--key",
        help="private key file for https, together with --cert",
    ),
    Setting(
        field="proxy",
        variable="RL_LAB_PROXY",
        flag="--proxy",
        help="address of a proxy in front, whose forwarded headers are believed; nobody else's",
    ),
    Setting(
        field="github_id",
        variable="RL_LAB_GITHUB_ID",
        flag=None,
        help="client id of an OAuth app at GitHub, to sign in with it",
    ),
    Setting(
        field="github_secret",
        variable="RL_LAB_GITHUB_SECRET",
        flag=None,
        help="its client secret",
    ),
    Setting(
        field="github_url",
        variable="RL_LAB_GITHUB_URL",
        flag=None,
        help="address of a GitHub of one's own",
    ),
    Setting(
        field="google_id",
        variable="RL_LAB_GOOGLE_ID",
        flag=None,
        help="client id at Google, to sign in with it",
    ),
    Setting(
        field="google_secret",
        variable="RL_LAB_GOOGLE_SECRET",
        flag=None,
        help="its client secret",
    ),
    Setting(
        field="oidc_issuer",
        variable="RL_LAB_OIDC_ISSUER",
        flag=None,
        help="address of any OpenID Connect provider, to sign in with it",
    ),
    Setting(
        field="oidc_id",
        variable="RL_LAB_OIDC_ID",
        flag=None,
        help="client id there",
    ),
    Setting(
        field="oidc_secret",
        variable="RL_LAB_OIDC_SECRET",
        flag=None,
        help="client secret there",
    ),
    Setting(
        field="oidc_name",
        variable="RL_LAB_OIDC_NAME",
        flag=None,
        help="what its button says: Sign in with ...",
    ),
    Setting(
        field="hosts",
        variable="RL_LAB_HOSTS",
        flag=None,
        help="further names of this server, separated by commas",
    ),
    Setting(
        field="browser",
        variable="RL_LAB_BROWSER",
        flag="--no-browser",
        help="open the page in a browser at the start (1) or not (0)",
    ),
    Setting(
        field="viewers",
        variable="RL_LAB_VIEWERS",
        flag=None,
        help="runs and environments that can be watched or tested at once; tests come first",
    ),
    Setting(
        field="worker_memory",
        variable="RL_LAB_WORKER_MEMORY",
        flag=None,
        help="megabytes of memory that one worker may use",
    ),
    Setting(
        field="worker_silence",
        variable="RL_LAB_WORKER_SILENCE",
        flag=None,
        help="seconds without a sign of life after which a worker is ended",
    ),
    Setting(
        field="keep_checkpoints",
        variable="RL_LAB_KEEP_CHECKPOINTS",
        flag=None,
        help="how many of its newest checkpoints each run keeps",
    ),
    Setting(
        field="videos_kept",
        variable="RL_LAB_KEEP_EVALUATIONS",
        flag=None,
        help="how many of its newest videos each run keeps; pinned ones stay anyway",
    ),
    Setting(
        field="clips",
        variable="RL_LAB_CLIPS",
        flag=None,
        help="moments of each run that the time machine keeps as clips; 0 switches it off",
    ),
    Setting(
        field="auto_resume",
        variable="RL_LAB_AUTO_RESUME",
        flag=None,
        help="let interrupted runs go on by themselves when the server starts (1) or not (0)",
    ),
    Setting(
        field="trusted",
        variable="RL_LAB_TRUSTED",
        flag=None,
        help="addresses of people who may give code where the sandbox is partial, like admins",
    ),
    Setting(
        field="unlocked_code",
        variable="RL_LAB_UNLOCKED_CODE",
        flag=None,
        help="run administrators' code with the server's rights where there is no sandbox (1)",
    ),
)

_LEAST = {
    "port": 1,
    "workers": 1,
    "viewers": 0,
    "worker_memory": 512,
    "worker_silence": 5,
    "keep_checkpoints": 1,
    "videos_kept": 1,
    "clips": 0,
    "bcrypt_cost": 4,
}
_MOST = {
    "port": 65_535,
    "bcrypt_cost": 16,
    "workers": 256,
    "viewers": 64,
    "clips": 100,
}


def read_settings(
    arguments: Sequence[str],
    environment: Mapping[str, str],
    *,
    commands: Mapping[str, str] = MappingProxyType({}),
) -> Settings:
    """Combine flags, variables and defaults.

    Raises:
        SettingsError: if a value can't be used.
    """
    flags = vars(_parser(commands).parse_args(arguments))
    if (command := flags["command"]) != "serve":
        raise SettingsError(f"The command comes first: python main.py {command} --help tells more.")
    values: dict[str, Any] = {}
    for setting in SETTINGS:
        raw = flags.get(setting.field)
        source = setting.flag if raw is not None else setting.variable
        raw = raw if raw is not None else environment.get(setting.variable)
        if raw is not None:
            values[setting.field] = _convert(setting.field, raw, source or setting.variable)
    settings = Settings(**values)
    check(settings)
    return settings


class SentenceParser(argparse.ArgumentParser):
    """Reports a wrong flag as one sentence."""

    def error(self, message: str) -> NoReturn:
        """Say what is wrong and where to read more."""
        raise SettingsError(f"{message[:1].upper()}{message[1:]}. See {self.prog} --help.")


def _parser(commands: Mapping[str, str]) -> argparse.ArgumentParser:
    others = "\n".join(f"  {name:16}{does}" for name, does in commands.items())
    parser = SentenceParser(
        prog="python main.py",
        description="Serve the lab on a web page.",
        epilog=f"Without a web page:\n{others}\nEach has a --help of its own.",
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    names = ["serve", *commands]
    parser.add_argument("command", nargs="?", choices=names, default="serve", help="serve or below")
    for setting in SETTINGS:
        if setting.field == "browser":
            parser.add_argument("--no-browser", dest="browser", action="store_const", const="0",
                                help="don't open the page in a browser")  # fmt: skip
        elif setting.flag:
            parser.add_argument(setting.flag, dest=setting.field, help=setting.help)
    return parser


def _convert(field: str, raw: str, source: str) -> object:
    default = next(item.default for item in fields(Settings) if item.name == field)
    match default:
        case bool():
            return _truth(raw, source)
        case int() | float():
            return _number(field, raw, source, type(default))
        case Path():
            return Path(raw)
        case tuple():
            return tuple(part.strip() for part in raw.split(",") if part.strip())
        case _:
            return raw


def _truth(raw: str, source: str) -> bool:
    if raw not in {"0", "1"}:
        raise SettingsError(f"{source} must be 0 or 1, got {raw!r}.")
    return raw == "1"


def _number(field: str, raw: str, source: str, kind: type[int] | type[float]) -> float:
    least, most = _LEAST[field], _MOST.get(field)
    try:
        number = kind(raw)
    except ValueError:
        number = least - 1
    if not number >= least or (most is not None and number > most):
        upper = f" to {most}" if most is not None else " upwards"
        raise SettingsError(f"{source} must be a number from {least}{upper}, got {raw!r}.")
    return number


def _addresses_of_this_machine() -> set[str]:
    """Bound to every address, the server is known under each; none can be another site's name."""
    found = {item.address for items in psutil.net_if_addrs().values() for item in items}
    return {socket.gethostname(), *(address.partition("%")[0] for address in found)}
