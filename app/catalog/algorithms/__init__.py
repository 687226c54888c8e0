"""The algorithms and their hyperparameters, as plain data."""

from app.catalog.algorithms.catalogue import ALGORITHMS, DEFAULT_ALGORITHM, get_algorithm
from app.catalog.algorithms.common import max_buffer_size
from app.catalog.algorithms.sb3_defaults import SB3_N_ENVS, sb3_defaults
from app.catalog.algorithms.spec import AlgorithmSpec, Family, Group, Hyperparameter, Value

__all__ = [
    "ALGORITHMS",
    "DEFAULT_ALGORITHM",
    "SB3_N_ENVS",
    "AlgorithmSpec",
    "Family",
    "Group",
    "Hyperparameter",
    "Value",
    "get_algorithm",
    "max_buffer_size",
    "sb3_defaults",
]
