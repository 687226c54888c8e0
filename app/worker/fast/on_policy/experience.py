"""The flattened steps of a rollout, in Stable-Baselines3's order."""

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
from stable_baselines3.common.buffers import RolloutBuffer

from app.worker.fast.flat import Array
from app.worker.fast.on_policy.actions import ActionDistribution

Column = npt.NDArray[Any]

_COLUMNS = ("observations", "actions", "log_probs", "values", "advantages", "returns")


@dataclass(frozen=True, slots=True)
class Experience:
    """The steps of all environments in sequence, as named columns with one row per step."""

    columns: dict[str, Column]

    @classmethod
    def of(cls, buffer: RolloutBuffer, actions: ActionDistribution) -> "Experience":
        """Flatten a full buffer, whose arrays have a row per step and a column per environment."""
        columns = {name: _flat(getattr(buffer, name)) for name in _COLUMNS}
        return cls({**columns, "actions": actions.prepare(columns["actions"])})

    def __getitem__(self, name: str) -> Column:
        return self.columns[name]

    def __len__(self) -> int:
        return len(self.columns["returns"])

    def take(self, rows: npt.NDArray[np.int64]) -> "Experience":
        """Return some of the steps, or all in another order."""
        return Experience(
            {name: values.take(rows, axis=0) for name, values in self.columns.items()}
        )


def _flat(stored: Column) -> Column:
    return stored.swapaxes(0, 1).reshape(len(stored) * stored.shape[1], *stored.shape[2:])


def normalized(advantages: Array) -> Array:
    """Normalize each row of advantages to mean 0 and standard deviation 1."""
    if advantages.shape[-1] < 2:
        return advantages
    centred = advantages - advantages.mean(axis=-1, keepdims=True)
    deviation = advantages.std(axis=-1, ddof=1, keepdims=True)
    result: Array = centred / (deviation + np.float32(1e-8))
    return result
