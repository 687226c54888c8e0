import subprocess
import sys
from pathlib import Path


def test_a_worker_locks_itself_down_before_it_imports_libraries() -> None:
    """Only msgspec with its dependency, which starts no thread, comes before the lock-down."""
    code = (
        "import sys; sys.path.insert(0, '.'); first = set(sys.modules);"
        "import app.worker.boot, app.protocol.framing, app.worker.fork_server;"
        "import app.worker.sandbox.lockdown, app.worker.sandbox.kernel;"
        "names = {name.partition('.')[0] for name in set(sys.modules) - first};"
        "print(*sorted(names - set(sys.stdlib_module_names) - {'app'}))"
    )

    done = subprocess.run(
        [sys.executable, "-I", "-c", code],
        cwd=Path(__file__).parent.parent,
        capture_output=True,
        text=True,
        check=True,
    )

    assert done.stdout.split() == ["msgspec", "typing_extensions"]


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
