"""The real server with workers that only talk: `python -m benchmarks.chatty_server FLAG ...`."""

import runpy
from pathlib import Path

from app.workers import worker_process

worker_process.boot_path = lambda: Path(__file__).with_name("chatty_worker.py")
# Each worker starts with that file; a fork server would have the real one loaded.
worker_process._is_fork_safe = lambda: False
runpy.run_path("main.py", run_name="__main__")
