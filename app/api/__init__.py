"""The lab for programs: JSON, server-sent events and one WebSocket below /api."""

from fastapi import FastAPI

from app.api import health
from app.api.accounts import admin, auth, me
from app.api.catalog import (
    algorithms,
    custom_environments,
    demonstrations,
    environments,
    presets,
    previews,
    reward_versions,
    rewards,
)
from app.api.runs import (
    artifacts,
    clips,
    comparisons,
    evaluations,
    exports,
    frames,
    groups,
    hub,
    imports,
    insights,
    publish,
    records,
    runs,
    streams,
)
from app.api.shared.docs import add_docs
from app.api.shared.errors import EVERYWHERE, add_error_handlers
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
        custom_environments,
        environments,
        algorithms,
        presets,
        imports,
        runs,
        groups,
        comparisons,
        records,
        streams,
        exports,
        frames,
        artifacts,
        publish,
        hub,
        previews,
        demonstrations,
        evaluations,
        clips,
        insights,
        rewards,
        reward_versions,
        auth,
        me,
        admin,
    ):
        api.include_router(resource.router)
    api.include_router(evaluations.recordings)
    api.include_router(comparisons.lineage_router)
    api.include_router(evaluations.evolutions)
    api.include_router(me.people_router)
    add_docs(api)
    add_error_handlers(api)
    return api
