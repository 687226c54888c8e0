"""Check the values that may change while a run trains."""

from collections.abc import Mapping
from typing import Any

from app.catalog.algorithms import AlgorithmSpec
from app.core import InputError, Parameter
from app.protocol import messages
from app.run_config.request import MAX_TIMESTEPS

LIVE_HYPERPARAMETERS = ("learning_rate", "ent_coef", "clip_range")
"""What can change while a run trains, besides its budget."""

_BUDGET = Parameter(
    name="total_timesteps",
    type="int",
    default=None,
    min=1,
    max=MAX_TIMESTEPS,
    description="The budget.",
)


def read_change(algorithm: AlgorithmSpec, values: Mapping[str, Any]) -> messages.Change:
    """Check the values of a live change.

    Raises:
        InputError: if the algorithm has no such parameter, or a value is out of bounds.
    """
    known = {parameter.name: parameter for parameter in algorithm.hyperparameters}
    checked: dict[str, Any] = {}
    for name, value in values.items():
        if name == _BUDGET.name:
            checked[name] = _BUDGET.check(value, field=name)
            continue
        if name not in LIVE_HYPERPARAMETERS or name not in known:
            raise InputError(f"{algorithm.id} has no {name} to change.", field=name)
        checked[name] = known[name].check(value, field=name)
    return messages.Change(**checked)
