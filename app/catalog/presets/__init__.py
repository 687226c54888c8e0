"""Complete settings per environment and algorithm: tuned here, SB3's defaults, RL Zoo's."""

from app.catalog.presets.catalogue import default_preset, expectation, get_preset, presets_for
from app.catalog.presets.spec import Expectation, Preset, PresetName, Published, write_score

__all__ = [
    "Expectation",
    "Preset",
    "PresetName",
    "Published",
    "default_preset",
    "expectation",
    "get_preset",
    "presets_for",
    "write_score",
]
