"""The real server with fake workers: `python -m benchmarks.server.chatty_server FLAG ...`."""

import runpy
from pathlib import Path

from app.workers import worker_process

worker_process.boot_path = lambda: Path(__file__).with_name("chatty_worker.py")
# Each worker must start with that file; a fork server would have loaded the real one.
worker_process._is_fork_safe = lambda: False
runpy.run_path("main.py", run_name="__main__")
