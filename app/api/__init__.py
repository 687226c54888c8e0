"""The lab for programs: JSON, server-sent events and one WebSocket below /api."""

from fastapi import FastAPI

from app.api import (
    admin,
    algorithms,
    artifacts,
    auth,
    environments,
    frames,
    groups,
    health,
    me,
    presets,
    records,
    runs,
    streams,
)
from app.api.docs import add_docs
from app.api.errors import EVERYWHERE, add_error_handlers
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
        responses=EVERYWHERE,
    )
    api.state.lab = lab
    for resource in (
        health,
        environments,
        algorithms,
        presets,
        runs,
        groups,
        records,
        streams,
        frames,
        artifacts,
        auth,
        me,
        admin,
    ):
        api.include_router(resource.router)
    api.include_router(me.people_router)
    add_docs(api)
    add_error_handlers(api)
    return api
