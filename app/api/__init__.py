"""The lab for programs: JSON, server-sent events and one WebSocket below /api."""

from fastapi import FastAPI

from app.api import accounts, catalog, health, runs
from app.api.shared import COMMON_RESPONSES, add_docs, add_error_handlers
from app.lab import VERSION, Lab


def create_api(lab: Lab) -> FastAPI:
    """Return the application that answers below /api."""
    api = FastAPI(
        title="RL LAB // GYM MANAGER",
        version=VERSION,
        summary="Train, watch and download reinforcement-learning agents.",
        openapi_url="/openapi.json",
        docs_url=None,
        redoc_url=None,
        # A wrong slash is an unknown address, not a redirect that loses the request's body.
        redirect_slashes=False,
        responses=COMMON_RESPONSES,
    )
    api.state.lab = lab
    for router in (health.router, *catalog.ROUTERS, *runs.ROUTERS, *accounts.ROUTERS):
        api.include_router(router)
    add_docs(api)
    add_error_handlers(api)
    return api
