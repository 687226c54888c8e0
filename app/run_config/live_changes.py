"""Check the values that may change while a run trains."""

from collections.abc import Mapping
from typing import Any, get_args

from app.catalog.algorithms import AlgorithmSpec
from app.core import InputError, Parameter
from app.protocol import ScheduleMode, messages
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
_SCHEDULES = Parameter(
    name="schedules",
    type="choice",
    default=None,
    choices=get_args(ScheduleMode),
    description="What another budget does to schedules.",
)
_BUDGET_PARAMETERS = {parameter.name: parameter for parameter in (_BUDGET, _SCHEDULES)}


def read_change(algorithm: AlgorithmSpec, values: Mapping[str, Any]) -> messages.Change:
    """Check the values of a live change.

    Raises:
        InputError: if the algorithm has no such parameter, a value is out of bounds, or
            `schedules` is given without a budget.
    """
    known = {parameter.name: parameter for parameter in algorithm.hyperparameters}
    checked: dict[str, Any] = {}
    for name, value in values.items():
        if name in _BUDGET_PARAMETERS:
            checked[name] = _BUDGET_PARAMETERS[name].check(value, field=name)
            continue
        if name not in LIVE_HYPERPARAMETERS or name not in known:
            raise InputError(f"{algorithm.id} has no {name} to change.", field=name)
        checked[name] = known[name].check(value, field=name)
        if isinstance(checked[name], str):
            raise InputError(f"{name} can be tuned only from the start. Give a number.", field=name)
    if _SCHEDULES.name in checked and _BUDGET.name not in checked:
        raise InputError(
            "schedules sets what another total_timesteps does to them. Give total_timesteps, too.",
            field="schedules",
        )
    return messages.Change(**checked)
