"""The algorithms and their hyperparameters, as plain data."""

from app.catalog.algorithms.catalogue import ALGORITHMS, DEFAULT_ALGORITHM, get_algorithm
from app.catalog.algorithms.spec import AlgorithmSpec, Family, Group, Hyperparameter, Value

__all__ = [
    "ALGORITHMS",
    "DEFAULT_ALGORITHM",
    "AlgorithmSpec",
    "Family",
    "Group",
    "Hyperparameter",
    "Value",
    "get_algorithm",
]
