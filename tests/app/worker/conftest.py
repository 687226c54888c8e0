"""torch as workers have it: its compiler takes longer to import than the rest."""

from app.worker.compiler import import_torch

import_torch()
