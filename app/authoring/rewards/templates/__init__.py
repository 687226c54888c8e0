"""Templates of custom rewards: common ones, and some for single environments."""

from app.authoring.rewards.templates.catalogue import templates_for
from app.authoring.rewards.templates.template import Template

__all__ = ["Template", "templates_for"]
