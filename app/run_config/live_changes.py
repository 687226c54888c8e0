"""What may be changed about a run while it trains."""

from collections.abc import Mapping
from typing import Any

from app.catalog.algorithms.spec import AlgorithmSpec
from app.core.errors import InputError
from app.core.parameters import Parameter
from app.protocol import messages
from app.run_config.config import MAX_TIMESTEPS

_TUNABLE = ("learning_rate", "ent_coef", "clip_range")
_BUDGET = Parameter(
    name="total_timesteps",
    type="int",
    default=None,
    min=1,
    max=MAX_TIMESTEPS,
    description="The budget.",
)


def read_change(algorithm: AlgorithmSpec, wishes: Mapping[str, Any]) -> messages.Change:
    """Check what a person wants changed.

    Raises:
        InputError: if the algorithm has no such value, or it is out of bounds.
    """
    known = {parameter.name: parameter for parameter in algorithm.hyperparameters}
    checked: dict[str, Any] = {}
    for name, value in wishes.items():
        if name == _BUDGET.name:
            checked[name] = _BUDGET.check(value, field=name)
            continue
        if name not in _TUNABLE or name not in known:
            raise InputError(f"{algorithm.id} has no {name} to change.", field=name)
        checked[name] = known[name].check(value, field=name)
    return messages.Change(**checked)
