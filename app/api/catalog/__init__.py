"""Routes of environments, algorithms, presets, custom rewards and previews."""

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

ROUTERS = (
    custom_environments.router,
    environments.router,
    algorithms.router,
    presets.router,
    previews.router,
    demonstrations.router,
    rewards.router,
    reward_versions.router,
)
