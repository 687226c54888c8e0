"""Import torch like workers: without its compiler, which takes longest to import."""

from app.worker.compiler import import_torch

import_torch()
