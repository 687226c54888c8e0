"""Location of the front-end files built at set-up: fonts, code editor, API documentation."""

from pathlib import Path

ASSETS_URL = "/assets"
ASSETS_FOLDER = Path(__file__).parents[2] / "assets" / "built"
