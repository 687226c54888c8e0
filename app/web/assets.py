"""Where the front-end files lie that set-up builds: fonts, code editor, API documentation."""

from pathlib import Path

ASSETS_URL = "/assets"
ASSETS_FOLDER = Path(__file__).parents[2] / "assets" / "built"
