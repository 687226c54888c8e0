"""The lab's side of the Hugging Face Hub: start a process for an order and read its progress."""

import asyncio
import logging
import os
import sys
import tempfile
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import msgspec

from app.sharing.hub_messages import Done, Failed, HubMessage, Moved, Pull, Pulled, Push

_ROOT = Path(__file__).parents[2]
_SILENCE_S = 300.0
_LONGEST_LINE = 64 << 10
_KEPT = ("PATH", "LANG", "LC_ALL", "SSL_CERT_FILE", "SSL_CERT_DIR", "NO_PROXY", "no_proxy")
_PROXIES = ("HTTPS_PROXY", "HTTP_PROXY", "ALL_PROXY", "https_proxy", "http_proxy", "all_proxy")
_MESSAGES = msgspec.json.Decoder(HubMessage)

_log = logging.getLogger(__name__)


def endpoint() -> str:
    """Return the base URL of the Hub."""
    return (os.environ.get("HF_ENDPOINT") or "https://huggingface.co").rstrip("/")


async def push(order: Push, on_progress: Callable[[Moved], None]) -> Done | Failed:
    """Upload a model; `on_progress` is called with the progress."""
    end = await _carry_out(order, on_progress)
    assert not isinstance(end, Pulled)
    return end


async def pull(order: Pull) -> Pulled | Failed:
    """Download a model."""
    end = await _carry_out(order, lambda _: None)
    assert not isinstance(end, Done)
    return end


async def _carry_out(
    order: Push | Pull, on_progress: Callable[[Moved], None]
) -> Done | Pulled | Failed:
    with tempfile.TemporaryDirectory(prefix="rl-lab-hub-") as home:
        process = await asyncio.create_subprocess_exec(
            sys.executable,
            "-m",
            "app.sharing.hub_process",
            cwd=_ROOT,
            env=_environment(home),
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.PIPE,
            limit=_LONGEST_LINE,
        )
        try:
            return await _exchange(process, order, on_progress)
        finally:
            with suppress(ProcessLookupError):
                process.kill()
            await process.wait()


def _environment(home: str) -> dict[str, str]:
    """Return the process's environment: no token, no secret of the server, no user's cache."""
    kept = {name: os.environ[name] for name in (*_KEPT, *_PROXIES) if name in os.environ}
    return {
        **kept,
        "HOME": home,
        "HF_HOME": home,
        "HF_HUB_DISABLE_IMPLICIT_TOKEN": "1",
        "HF_HUB_DISABLE_PROGRESS_BARS": "1",
        "HF_HUB_DISABLE_TELEMETRY": "1",
        # Allow only the upload protocol that is tested.
        "HF_HUB_DISABLE_XET": "1",
        "PYTHONDONTWRITEBYTECODE": "1",
    }


async def _exchange(
    process: asyncio.subprocess.Process, order: Push | Pull, on_progress: Callable[[Moved], None]
) -> Done | Pulled | Failed:
    assert process.stdin is not None
    assert process.stdout is not None
    assert process.stderr is not None
    errors = asyncio.ensure_future(process.stderr.read(_LONGEST_LINE))
    try:
        process.stdin.write(msgspec.json.encode(order))
        process.stdin.close()
        while True:
            async with asyncio.timeout(_SILENCE_S):
                line = await process.stdout.readline()
            if not line:
                break
            match _MESSAGES.decode(line):
                case Moved() as moved:
                    on_progress(moved)
                case Done() | Pulled() | Failed() as end:
                    return end
        # A library may have printed the token.
        output = (await errors).decode(errors="replace").replace(order.token or "\0", "***")
        _log.error("The process for the Hub ended early: %s", output[-4_000:])
    except (TimeoutError, ValueError, OSError, msgspec.MsgspecError) as error:
        _log.error("The process for the Hub failed: %s", type(error).__name__)
    finally:
        errors.cancel()
    return Failed(
        code="no_network", message="It was interrupted. Try again; the server's log has details."
    )
