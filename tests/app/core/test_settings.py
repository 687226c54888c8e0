import socket
from pathlib import Path

import pytest

from app.core.errors import SettingsError
from app.core.settings import SETTINGS, Settings, read_settings


def test_defaults_serve_this_machine_only() -> None:
    settings = read_settings([], {})

    assert settings.host == "127.0.0.1"
    assert settings.is_loopback
    assert settings.workers >= 1


def test_a_flag_overrides_a_variable_and_a_variable_overrides_the_default() -> None:
    environment = {"RL_LAB_PORT": "9000", "RL_LAB_WORKERS": "3"}

    settings = read_settings(["--port", "9001", "--no-browser"], environment)

    assert settings.port == 9001
    assert settings.workers == 3
    assert not settings.browser


def test_the_serve_command_may_be_given() -> None:
    assert read_settings(["serve", "--runs-dir", "/data"], {}).runs_dir == Path("/data")


@pytest.mark.parametrize(
    ("flags", "sentence"),
    [
        (["--port", "0"], "--port must be a number from 1 to 65535, got '0'"),
        (["--port", "http"], "--port must be a number"),
        (["--workers", "0"], "--workers must be a number from 1"),
        (["--auth", "maybe"], "--auth must be auto, on or off"),
        (["--auth", "off", "--host", "0.0.0.0"], r"--auth off .* --host 0\.0\.0\.0\. Omit --auth"),
        (["--auth", "off", "--proxy", "127.0.0.1"], "--auth off serves this machine only"),
        (["--cert", "cert.pem"], "--cert and --key belong together"),
        (["--cert", "no.pem", "--key", "no.pem"], "--cert must be a file that can be read"),
        (["--proxy", "everyone"], "--proxy must be one address"),
        (["--colour"], "Unrecognized arguments: --colour"),
        (["dance"], "invalid choice: 'dance'"),
    ],
)
def test_an_invalid_flag_is_refused_with_what_is_allowed(flags: list[str], sentence: str) -> None:
    with pytest.raises(SettingsError, match=sentence):
        read_settings(flags, {})


def test_an_invalid_variable_is_refused_by_name() -> None:
    with pytest.raises(SettingsError, match="RL_LAB_CLIPS must be a number from 0"):
        read_settings([], {"RL_LAB_CLIPS": "-1"})
    with pytest.raises(SettingsError, match="RL_LAB_BROWSER must be 0 or 1"):
        read_settings([], {"RL_LAB_BROWSER": "yes"})
    with pytest.raises(SettingsError, match="RL_LAB_DATABASE must look like sqlite") as raised:
        read_settings([], {"RL_LAB_DATABASE": "mysql://lab:geheim@x"})
    assert "geheim" not in str(raised.value)


@pytest.mark.parametrize(
    ("flags", "has_accounts", "registration"),
    [
        ([], False, "open"),
        (["--auth", "on"], True, "open"),
        (["--host", "0.0.0.0"], True, "invite"),
        (["--host", "lab.example.org", "--auth", "on"], True, "invite"),
        (["--proxy", "127.0.0.1"], True, "invite"),
    ],
)
def test_a_server_reachable_from_the_network_has_accounts(
    flags: list[str], has_accounts: bool, registration: str
) -> None:
    settings = read_settings(flags, {})

    assert settings.has_accounts is has_accounts
    assert settings.default_registration == registration


def test_registration_and_secret_are_checked() -> None:
    assert read_settings([], {"RL_LAB_REGISTRATION": "closed"}).default_registration == "closed"
    with pytest.raises(SettingsError, match="RL_LAB_REGISTRATION must be one of open, invite"):
        read_settings([], {"RL_LAB_REGISTRATION": "maybe"})
    with pytest.raises(SettingsError, match="RL_LAB_SECRET must be at least 16") as raised:
        read_settings([], {"RL_LAB_SECRET": "geheim"})
    assert "geheim" not in str(raised.value)
    assert "long enough secret" not in repr(
        read_settings([], {"RL_LAB_SECRET": "long enough secret"})
    )


def test_a_server_on_all_addresses_allows_its_own_host_names() -> None:
    allowed = read_settings(["--host", "0.0.0.0"], {}).allowed_hosts

    assert {"127.0.0.1", socket.gethostname().lower()} <= allowed
    assert "evil.example" not in allowed


def test_additional_host_names_are_allowed() -> None:
    settings = read_settings([], {"RL_LAB_HOSTS": "Lab.local, other"})

    assert {"lab.local", "other", "localhost", "127.0.0.1"} <= settings.allowed_hosts


def test_every_setting_has_a_variable_and_a_field() -> None:
    assert {setting.field for setting in SETTINGS} == set(Settings.__dataclass_fields__)
    assert all(setting.variable.startswith("RL_LAB_") for setting in SETTINGS)
