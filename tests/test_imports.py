import subprocess
import sys
from pathlib import Path


def test_the_web_process_loads_neither_torch_nor_environments() -> None:
    code = (
        "import app.api, app.cli.train, app.cli.evaluate, app.cli.export;"
        "import app.web.request_filter, app.web.server;"
        "import pages.dashboard, pages.history, sys;"
        "heavy = {'torch', 'stable_baselines3', 'sb3_contrib', 'gymnasium', 'huggingface_hub'};"
        "print(heavy & set(sys.modules))"
    )

    done = subprocess.run(
        [sys.executable, "-c", code],
        cwd=Path(__file__).parent.parent,
        capture_output=True,
        text=True,
        check=True,
    )

    assert done.stdout.strip() == "set()"
