"""What a person asks for, and the complete, checked configuration that comes of it."""

import secrets
from typing import Annotated, Any, Self

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, StrictBool, StrictInt, StrictStr

from app.algorithms.catalogue import get_algorithm
from app.algorithms.spec import AlgorithmSpec, Value
from app.environments.catalogue import get_environment
from app.errors import InputError

MAX_TIMESTEPS = 1_000_000_000
MAX_N_ENVS = 64
MAX_SEED = 2**32 - 1

ShortText = Annotated[StrictStr, Field(max_length=200)]
Name = Annotated[StrictStr, Field(max_length=200)]
Tags = Annotated[
    list[Annotated[StrictStr, Field(min_length=1, max_length=50)]], Field(max_length=20)
]


def _whole(value: object) -> object:
    """Read 1e5 as 100000, as people type it; leave everything else for the strict check."""
    return int(value) if isinstance(value, float) and value.is_integer() else value


WholeNumber = Annotated[StrictInt, BeforeValidator(_whole)]


class RunRequest(BaseModel):
    """A new run as a form or a program asks for it."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    env_id: ShortText
    algorithm: ShortText
    total_timesteps: WholeNumber | None = Field(default=None, ge=1, le=MAX_TIMESTEPS)
    learning_rate: Any = None
    """Short for the hyperparameter of this name."""
    hyperparameters: dict[str, Any] = {}
    seed: WholeNumber | None = Field(default=None, ge=0, le=MAX_SEED)
    n_envs: WholeNumber | None = Field(default=None, ge=1, le=MAX_N_ENVS)
    name: Name | None = None
    tags: Tags = []
    start: StrictBool = False


class RunConfig(BaseModel):
    """Everything a worker needs to repeat a run; nothing downstream checks it again."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    env_id: str
    algorithm: str
    total_timesteps: int
    seed: int
    n_envs: int
    hyperparameters: dict[str, Value]

    @classmethod
    def from_request(cls, request: RunRequest) -> Self:
        """Fill in the defaults and check what belongs together.

        Raises:
            InputError: if the environment, the algorithm or a value can't be used.
        """
        environment = get_environment(request.env_id)
        algorithm = get_algorithm(request.algorithm)
        algorithm.check_fits(environment)
        config = cls(
            env_id=environment.id,
            algorithm=algorithm.id,
            total_timesteps=request.total_timesteps or environment.default_timesteps,
            seed=secrets.randbelow(MAX_SEED + 1) if request.seed is None else request.seed,
            n_envs=request.n_envs or algorithm.default_n_envs,
            hyperparameters=_hyperparameters(request, algorithm),
        )
        algorithm.check_together(config.hyperparameters, config.n_envs, environment)
        return config


def _hyperparameters(request: RunRequest, algorithm: AlgorithmSpec) -> dict[str, Value]:
    if request.learning_rate is None:
        return algorithm.complete(request.hyperparameters)
    if "learning_rate" in request.hyperparameters:
        raise InputError(
            "learning_rate is given twice, at top level and in hyperparameters. Keep one.",
            field="learning_rate",
        )
    given = {**request.hyperparameters, "learning_rate": request.learning_rate}
    try:
        return algorithm.complete(given)
    except InputError as error:
        # The short form is the field that the person wrote.
        if error.field == "hyperparameters.learning_rate":
            error.field = "learning_rate"
        raise
