"""The catalogue: environments, algorithms, presets and a glossary."""

from app.catalog.glossary import GLOSSARY, explanation

__all__ = ["GLOSSARY", "explanation"]
