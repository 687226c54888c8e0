"""The request for a new run from a form or an API client, without defaults."""

from typing import Annotated, Any
from unicodedata import category

from pydantic import (
    AfterValidator,
    BaseModel,
    ConfigDict,
    Field,
    StrictBool,
    StrictStr,
)
from pydantic_core import PydanticCustomError

from app.catalog.presets import PresetName
from app.code_check import MAX_CODE_BYTES
from app.run_config.engine import EngineChoice
from app.run_config.evaluation_options import EvaluationOptions, WholeNumber

MAX_TIMESTEPS = 1_000_000_000
MAX_N_ENVS = 64
MAX_SEED = 2**32 - 1
MAX_NAME = 200

ShortText = Annotated[StrictStr, Field(max_length=200)]


def _on_one_line(text: str) -> str:
    if any(category(character) == "Cc" for character in text):
        raise PydanticCustomError("one_line", "text without control characters")
    return text


Name = Annotated[StrictStr, Field(max_length=MAX_NAME), AfterValidator(_on_one_line)]
Tags = Annotated[
    list[Annotated[StrictStr, Field(min_length=1, max_length=50), AfterValidator(_on_one_line)]],
    Field(max_length=20),
]

RewardCode = Annotated[StrictStr, Field(max_length=MAX_CODE_BYTES)]


class RunRequest(BaseModel):
    """The request for a new run."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    env_id: ShortText
    algorithm: ShortText
    preset: PresetName | None = None
    """The default values; those given explicitly take precedence."""
    total_timesteps: WholeNumber | None = Field(default=None, ge=1, le=MAX_TIMESTEPS)
    learning_rate: Any = None
    """Short for the hyperparameter of this name."""
    hyperparameters: dict[str, Any] = {}
    seed: WholeNumber | None = Field(default=None, ge=0, le=MAX_SEED)
    seeds: Any = None
    """The number of runs or a list of their seeds: creates a seed group."""
    n_envs: WholeNumber | None = Field(default=None, ge=1, le=MAX_N_ENVS)
    env_kwargs: dict[str, Any] = {}
    wrappers: dict[str, Any] = {}
    engine: EngineChoice = "auto"
    stop_when_solved: StrictBool = False
    evaluate_every: WholeNumber | None = Field(default=None, ge=1, le=MAX_TIMESTEPS)
    """Number of training steps between periodic evaluations."""
    evaluation: EvaluationOptions = EvaluationOptions()
    reward_code: RewardCode | None = None
    """Python code of a custom reward, used instead of the environment's own."""
    init_from: ShortText | None = None
    """A run, or `run@step` for one of its checkpoints, from whose policy to start."""
    name: Name | None = None
    tags: Tags = []
    start: StrictBool = False
