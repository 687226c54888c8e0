"""Describe and render any installed environment in a worker."""

from app.discovery.environment_finder import EnvironmentFinder, spec_of
from app.discovery.previews import Previews

__all__ = ["EnvironmentFinder", "Previews", "spec_of"]
