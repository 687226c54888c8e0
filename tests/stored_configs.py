"""Configurations as stored in the database."""

from typing import Any


def stored_config(**values: Any) -> dict[str, Any]:
    """Return a minimal readable configuration."""
    return {
        "env_id": "CartPole-v1",
        "algorithm": "PPO",
        "total_timesteps": 1_000,
        "seed": 1,
        "n_envs": 1,
        "hyperparameters": {},
        **values,
    }
