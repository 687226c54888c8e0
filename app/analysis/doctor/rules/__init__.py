"""The rules: one function each, from a situation to an insight or None."""

from app.analysis.doctor.rules.catalogue import by_importance, examine

__all__ = ["by_importance", "examine"]
