"""Tuned settings per environment and algorithm, with their measured scores."""

from app.catalog.presets.catalogue import expectation, presets_for
from app.catalog.presets.spec import Expectation, Preset, PresetName

__all__ = ["Expectation", "Preset", "PresetName", "expectation", "presets_for"]
