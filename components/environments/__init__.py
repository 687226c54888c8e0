"""Environments as cards, facts and findings."""

from components.environments.environment_findings import EnvironmentFindings
from components.environments.environment_grid import EnvironmentGrid

__all__ = ["EnvironmentFindings", "EnvironmentGrid"]
