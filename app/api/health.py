"""Health of the server."""

from fastapi import APIRouter
from pydantic import BaseModel

from app.api.shared import TheLab
from app.lab import VERSION


class Workers(BaseModel):
    """Training workers in use, their limit, and queued runs."""

    active: int
    limit: int
    queued: int


class Lag(BaseModel):
    """Delays of the event loop in the last minute, in milliseconds."""

    p50: float | None
    p99: float | None


class Health(BaseModel):
    """State of the server."""

    status: str
    version: str
    workers: Workers
    sandbox: str
    sandbox_open_doors: list[str]
    uptime_s: float
    event_loop_lag_ms: Lag


router = APIRouter(tags=["server"])


@router.get("/health")
async def health(lab: TheLab) -> Health:
    """Return the state of the server."""
    sandbox = await lab.sandbox()
    queue = lab.queue
    return Health(
        status="ok",
        version=VERSION,
        workers=Workers(active=queue.active, limit=queue.limit, queued=queue.waiting),
        sandbox=sandbox.level,
        sandbox_open_doors=list(sandbox.escapes),
        uptime_s=lab.uptime_s,
        event_loop_lag_ms=Lag(p50=lab.lag.percentile(0.5), p99=lab.lag.percentile(0.99)),
    )
