"""Start-up of the server: the lab, middleware, NiceGUI's options, the start-up message."""

import logging
import os
import resource
import sys
from collections.abc import Callable
from contextlib import suppress
from typing import Any

from starlette.applications import Starlette
from starlette.middleware.gzip import DEFAULT_EXCLUDED_CONTENT_TYPES, GZipMiddleware
from starlette.types import ASGIApp, Scope

from app.accounts import Principal
from app.core import Settings
from app.lab import Lab
from app.web.authentication import Authentication
from app.web.head_requests import HeadRequests
from app.web.json_bodies import JsonBodies
from app.web.request_filter import RequestFilter
from app.web.slow_clients import protocol_behind
from app.web.start_checks import refuse
from storage import StorageError

RECONNECT_WITHIN_S = 30.0
"""A page that loses its connection for less than this keeps its state."""

_END_REQUESTS_WITHIN_S = 2
_LARGEST_MESSAGE = 1 << 20
"""Largest WebSocket message from a browser, in bytes; the same as for a request body."""
_MAX_FILES = 65_536
_FAVICON = (
    '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 32 32">'
    '<rect width="32" height="32" rx="6" fill="#111"/>'
    '<path d="M6 24h20M16 22V9l-4-3" stroke="#fff" stroke-width="2.5" fill="none"/></svg>'
)


def open_lab(settings: Settings) -> Lab:
    """Open the lab, or print the reason why it can't be opened and exit with 2."""
    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(levelname)s %(message)s")
    _allow_many_connections()
    try:
        return Lab(settings)
    except StorageError as error:
        refuse(str(error))


def add_middleware(
    app: Starlette, lab: Lab, *, is_foreign: Callable[[Scope, Principal], bool]
) -> None:
    """Put the checks of every request around the pages; the last one added runs first."""
    app.add_middleware(JsonBodies)
    app.add_middleware(HeadRequests)
    app.add_middleware(Authentication, accounts=lab.accounts, is_foreign=is_foreign)
    app.add_middleware(RequestFilter, hosts=lab.settings.allowed_hosts)


def run_arguments(settings: Settings) -> dict[str, Any]:
    """Return the arguments of `ui.run` for serving the lab."""
    return {
        "host": settings.host,
        "port": settings.port,
        "show": settings.browser and _has_browser(),
        "title": "RL LAB // GYM MANAGER",
        "language": "en-US",
        "favicon": _FAVICON,
        "reload": False,
        "show_welcome_message": False,
        # Tailwind runs a compiler in the browser on every change; we need few of its classes.
        "tailwind": False,
        # Compressing a WebSocket message costs more than all the rest of sending it.
        "ws_per_message_deflate": False,
        "ws_max_size": _LARGEST_MESSAGE,
        "reconnect_timeout": RECONNECT_WITHIN_S,
        "timeout_graceful_shutdown": _END_REQUESTS_WITHIN_S,
        "server_header": False,
        "gzip_middleware_factory": _compressing,
        "http": protocol_behind(settings.proxy),
        # By default uvicorn trusts forwarded headers from this machine.
        "proxy_headers": bool(settings.proxy),
        "forwarded_allow_ips": settings.proxy,
        "ssl_certfile": settings.cert or None,
        "ssl_keyfile": settings.key or None,
    }


def announce(lab: Lab) -> None:
    """Print the address of the lab and what the first user has to know."""
    settings = lab.settings
    host = f"[{settings.host}]" if ":" in settings.host else settings.host
    scheme = "https" if settings.has_tls else "http"
    lines = [f"RL LAB // GYM MANAGER is at {scheme}://{host}:{settings.port} (Ctrl-C ends it)"]
    if not settings.is_loopback and not settings.has_tls and not settings.proxy:
        lines.append("Passwords are sent unencrypted: use --cert and --key, or a proxy with https.")
    if lab.accounts.is_on and lab.accounts.signing_in.is_first:
        lines.append("The first account, created at /register, is the administrator.")
    if (code := lab.accounts.signing_in.setup_code) is not None:
        lines.append(f"Set-up code: {code}")
    sys.stdout.write("\n".join(lines) + "\n")
    sys.stdout.flush()


def _compressing(inner: ASGIApp) -> GZipMiddleware:
    """Compress at a low level: it runs on the event loop, and metrics files can be gigabytes."""
    excluded = (*DEFAULT_EXCLUDED_CONTENT_TYPES, "application/x-ndjson", "application/octet-stream")
    return GZipMiddleware(inner, compresslevel=4, exclude_content_types=excluded)


def _allow_many_connections() -> None:
    """Raise the limit of open files and connections; shells start with a low one."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = _MAX_FILES if hard == resource.RLIM_INFINITY else min(hard, _MAX_FILES)
    if 0 <= soft < wanted:
        with suppress(ValueError, OSError):
            resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))


def _has_browser() -> bool:
    return bool(
        sys.platform != "linux" or os.environ.get("DISPLAY") or os.environ.get("WAYLAND_DISPLAY")
    )
