"""Routes of runs: files, records, streams, evaluations, comparisons, publication."""

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

ROUTERS = (
    imports.router,
    runs.router,
    groups.router,
    comparisons.router,
    records.router,
    streams.router,
    exports.router,
    frames.router,
    artifacts.router,
    publish.router,
    hub.router,
    evaluations.router,
    clips.router,
    insights.router,
    evaluations.recordings,
    comparisons.lineage_router,
    evaluations.evolutions,
)
