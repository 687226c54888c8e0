"""Whether the server is well."""

from fastapi import APIRouter
from pydantic import BaseModel

from app.api.shared.dependencies import TheLab
from app.lab import VERSION


class Workers(BaseModel):
    """How busy the server is with training."""

    active: int
    limit: int
    queued: int


class Lag(BaseModel):
    """How long the event loop kept others waiting in the last minute, in milliseconds."""

    p50: float | None
    p99: float | None


class Health(BaseModel):
    """How the server is."""

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
    """Tell how the server is."""
    sandbox = await lab.sandbox()
    trainer = lab.trainer
    return Health(
        status="ok",
        version=VERSION,
        workers=Workers(active=trainer.active, limit=trainer.limit, queued=trainer.queued),
        sandbox=sandbox.level,
        sandbox_open_doors=list(sandbox.open_doors),
        uptime_s=lab.uptime_s,
        event_loop_lag_ms=Lag(p50=lab.lag.percentile(0.5), p99=lab.lag.percentile(0.99)),
    )
