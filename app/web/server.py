"""What a server needs around its pages: settings that work, a free port, doors, files, an end."""

import logging
import os
import resource
import sys
from contextlib import suppress
from typing import Any

from starlette.middleware.gzip import DEFAULT_EXCLUDED_CONTENT_TYPES, GZipMiddleware
from starlette.types import ASGIApp

from app.core.settings import Settings
from app.lab import Lab
from app.web.slow_clients import protocol_behind
from app.web.start_checks import refuse
from storage.errors import StorageError

RECONNECT_WITHIN_S = 30.0
"""A page that lost its connection for less than this goes on where it was."""

_END_REQUESTS_WITHIN_S = 2
_LARGEST_MESSAGE = 1 << 20
"""What a browser may send at once over a WebSocket; as much as in the body of a request."""
_MOST_FILES = 65_536
_FAVICON = (
    '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 32 32">'
    '<rect width="32" height="32" rx="6" fill="#111"/>'
    '<path d="M6 24h20M16 22V9l-4-3" stroke="#fff" stroke-width="2.5" fill="none"/></svg>'
)


def open_lab(settings: Settings) -> Lab:
    """Open the lab, or say in one sentence why not and exit with 2."""
    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(levelname)s %(message)s")
    _allow_many_connections()
    try:
        return Lab(settings)
    except StorageError as error:
        refuse(str(error))


def run_arguments(settings: Settings) -> dict[str, Any]:
    """Return what NiceGUI needs to know to serve the lab."""
    return {
        "host": settings.host,
        "port": settings.port,
        "show": settings.browser and _has_browser(),
        "title": "RL LAB // GYM MANAGER",
        "language": "en-US",
        "favicon": _FAVICON,
        "reload": False,
        "show_welcome_message": False,
        # A compiler in the browser that watches every change of the page, for a handful of classes.
        "tailwind": False,
        # Compression of every WebSocket message costs more than all the rest of sending it.
        "ws_per_message_deflate": False,
        "ws_max_size": _LARGEST_MESSAGE,
        "reconnect_timeout": RECONNECT_WITHIN_S,
        "timeout_graceful_shutdown": _END_REQUESTS_WITHIN_S,
        "server_header": False,
        "gzip_middleware_factory": _compressing,
        "http": protocol_behind(settings.proxy),
        # uvicorn believes whoever asks from this machine, unless told otherwise.
        "proxy_headers": bool(settings.proxy),
        "forwarded_allow_ips": settings.proxy,
        "ssl_certfile": settings.cert or None,
        "ssl_keyfile": settings.key or None,
    }


def announce(lab: Lab) -> None:
    """Say where the lab is, on the console, and what its first visitor needs."""
    settings = lab.settings
    host = f"[{settings.host}]" if ":" in settings.host else settings.host
    scheme = "https" if settings.has_tls else "http"
    lines = [f"RL LAB // GYM MANAGER is at {scheme}://{host}:{settings.port} (Ctrl-C ends it)"]
    if not settings.is_loopback and not settings.has_tls and not settings.proxy:
        lines.append("Passwords travel unencrypted: use --cert and --key, or a proxy with https.")
    if lab.accounts.is_on and lab.accounts.signing_in.is_first:
        lines.append("The first account, made at /register, looks after the lab.")
    if (code := lab.accounts.signing_in.setup_code) is not None:
        lines.append(f"Set-up code: {code}")
    sys.stdout.write("\n".join(lines) + "\n")
    sys.stdout.flush()


def _compressing(inner: ASGIApp) -> GZipMiddleware:
    """Compress little: it happens on the event loop, and a metrics file may have gigabytes."""
    excluded = (*DEFAULT_EXCLUDED_CONTENT_TYPES, "application/x-ndjson", "application/octet-stream")
    return GZipMiddleware(inner, compresslevel=4, exclude_content_types=excluded)


def _allow_many_connections() -> None:
    """Hold as many connections and files as the system allows; shells begin with few."""
    now, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = _MOST_FILES if most == resource.RLIM_INFINITY else min(most, _MOST_FILES)
    if 0 <= now < wanted:
        with suppress(ValueError, OSError):
            resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, most))


def _has_browser() -> bool:
    return bool(
        sys.platform != "linux" or os.environ.get("DISPLAY") or os.environ.get("WAYLAND_DISPLAY")
    )
