"""The real server with workers that only talk: `python -m benchmarks.chatty_server FLAG ...`."""

import runpy
from pathlib import Path

from app.training import backend

backend.boot_path = lambda: Path(__file__).with_name("chatty_worker.py")
runpy.run_path("main.py", run_name="__main__")
