"""What a person asks for, and the complete, checked configuration that comes of it."""

import secrets
from dataclasses import dataclass
from typing import Annotated, Any, Self
from unicodedata import category

from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    StrictBool,
    StrictInt,
    StrictStr,
)
from pydantic_core import PydanticCustomError

from app.catalog.algorithms.catalogue import get_algorithm
from app.catalog.algorithms.spec import AlgorithmSpec, Value
from app.catalog.environments.catalogue import environment_of_run, get_environment
from app.catalog.environments.envpool import why_no_envpool
from app.catalog.environments.spec import EnvSpec
from app.catalog.presets.catalogue import presets_for
from app.catalog.presets.spec import Preset, PresetName
from app.code_check.kinds import CodeKind
from app.code_check.static_check import LONGEST, first_error
from app.core.errors import CodeError, InputError
from app.protocol import commands, messages
from app.protocol.engine import EngineName, EngineWish, why_not_fast, why_this_engine
from app.protocol.schedule import Schedule
from app.protocol.wrappers import Wrappers
from app.run_config.wrapper_options import read_wrappers

MAX_TIMESTEPS = 1_000_000_000
MAX_N_ENVS = 64
MAX_SEED = 2**32 - 1
_EVALUATIONS_PER_RUN = 20
"""How often a run that may end when solved is evaluated, unless told otherwise."""

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

RewardCode = Annotated[StrictStr, Field(max_length=LONGEST)]


def _whole(value: object) -> object:
    """Read 1e5 as 100000, as people type it; leave everything else for the strict check."""
    return int(value) if isinstance(value, float) and value.is_integer() else value


WholeNumber = Annotated[StrictInt, BeforeValidator(_whole)]


@dataclass(frozen=True, slots=True, kw_only=True)
class AppliedChange:
    """Values that a run goes on with from some step."""

    timesteps: int
    learning_rate: float | Schedule | None = None
    ent_coef: float | None = None
    clip_range: float | Schedule | None = None
    total_timesteps: int | None = None


class RunRequest(BaseModel):
    """A new run as a form or a program asks for it."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    env_id: ShortText
    algorithm: ShortText
    preset: PresetName | None = None
    """Values to begin with; what is named beside it wins."""
    total_timesteps: WholeNumber | None = Field(default=None, ge=1, le=MAX_TIMESTEPS)
    learning_rate: Any = None
    """Short for the hyperparameter of this name."""
    hyperparameters: dict[str, Any] = {}
    seed: WholeNumber | None = Field(default=None, ge=0, le=MAX_SEED)
    seeds: Any = None
    """How many runs, or the seed of each: makes a group."""
    n_envs: WholeNumber | None = Field(default=None, ge=1, le=MAX_N_ENVS)
    env_kwargs: dict[str, Any] = {}
    wrappers: dict[str, Any] = {}
    engine: EngineWish = "auto"
    stop_when_solved: StrictBool = False
    evaluate_every: WholeNumber | None = Field(default=None, ge=1, le=MAX_TIMESTEPS)
    """Evaluate the policy beside the training after so many steps."""
    reward_code: RewardCode | None = None
    """A file of Python whose reward is learned from instead of the environment's own."""
    init_from: ShortText | None = None
    """A run, or `run@step` for one of its checkpoints, whose policy to begin with."""
    name: Name | None = None
    tags: Tags = []
    start: StrictBool = False


class RunConfig(BaseModel):
    """Everything a worker needs to repeat a run; nothing downstream checks it again."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    env_id: str
    algorithm: str
    total_timesteps: int
    seed: int = Field(ge=0, le=MAX_SEED)
    n_envs: int
    hyperparameters: dict[str, Value]
    preset: PresetName | None = None
    env_kwargs: dict[str, Any] = {}
    wrappers: Wrappers = Wrappers()
    engine: EngineWish = "auto"
    """What was asked for."""
    engine_used: EngineName = "sb3"
    engine_reason: str | None = None
    """Why it is this one; unknown of runs of earlier versions."""
    stop_when_solved: bool = False
    evaluate_every: int | None = None
    reward_code: str | None = None
    env_code: str | None = None
    """The file of an environment that a person wrote, as it was when the run was made."""
    init_from: str | None = None
    changes: tuple[AppliedChange, ...] = ()
    """What was changed while it trained, oldest first."""

    @classmethod
    def from_request(cls, request: RunRequest) -> Self:
        """Fill in the defaults and check what belongs together.

        Raises:
            InputError: if the environment, the algorithm or a value can't be used.
        """
        environment = get_environment(request.env_id, request.env_kwargs)
        environment.check_installed()
        algorithm = get_algorithm(request.algorithm)
        algorithm.check_fits(environment)
        _check_solvable(request, environment)
        preset = _preset(request, environment, algorithm)
        total = request.total_timesteps or preset.total_timesteps
        _check_evaluations(request, total)
        hyperparameters = _hyperparameters(request, algorithm, environment, preset)
        why_not = why_not_fast(algorithm.id, hyperparameters, environment.observation_kind)
        _check_engine(request, why_not)
        config = cls(
            env_id=environment.id,
            algorithm=algorithm.id,
            total_timesteps=total,
            seed=secrets.randbelow(MAX_SEED + 1) if request.seed is None else request.seed,
            n_envs=request.n_envs or preset.n_envs or algorithm.default_n_envs,
            hyperparameters=hyperparameters,
            preset=request.preset,
            env_kwargs=environment.check_kwargs(request.env_kwargs),
            wrappers=read_wrappers({**preset.wrappers, **request.wrappers}, environment),
            engine=request.engine,
            engine_used="sb3" if why_not or request.engine == "sb3" else "fast",
            engine_reason=why_this_engine(request.engine, why_not),
            stop_when_solved=request.stop_when_solved,
            evaluate_every=request.evaluate_every or _evaluations(request, total),
            reward_code=_reward_code(request),
            env_code=environment.code,
            init_from=request.init_from,
        )
        algorithm.check_together(config.hyperparameters, config.n_envs, environment)
        _check_simulator(config)
        return config

    @property
    def environment(self) -> EnvSpec:
        """What is known of the environment, with these options."""
        return environment_of_run(self.env_id, self.env_kwargs)

    def setup(self) -> commands.Setup:
        """Return what a worker needs to make the environment and the model."""
        layers = self.hyperparameters.get("net_arch")
        return commands.Setup(
            env_id=self.env_id,
            algorithm=self.algorithm,
            hyperparameters={
                name: value
                for name, value in self.hyperparameters.items()
                if not isinstance(value, dict)
            },
            networks=layers if isinstance(layers, dict) else {},
            env_kwargs=self.env_kwargs,
            env_code=self.env_code,
            wrappers=self.wrappers,
            engine=self.engine_used,
        )

    def job(self) -> commands.Train:
        """Return the order to train from the beginning."""
        threshold = self.environment.solved_threshold
        return commands.Train(
            setup=self.setup(),
            total_timesteps=self.total_timesteps,
            seed=self.seed,
            n_envs=self.n_envs,
            evaluate_every=self.evaluate_every,
            solved_from=threshold if self.stop_when_solved else None,
            reward=self.reward,
        )

    @property
    def reward(self) -> commands.Reward | None:
        """Return the reward that somebody wrote, as workers take it, if there is one."""
        if self.reward_code is None:
            return None
        components = tuple(component.attribute for component in self.environment.observed)
        return commands.Reward(code=self.reward_code, components=components)

    def all_changes(self) -> tuple[messages.Change, ...]:
        """Return what was changed so far, but for the budget, in the order of the asking.

        Applied once more, what a checkpoint knows already stays as it is.
        """
        return tuple(
            messages.Change(
                learning_rate=change.learning_rate,
                ent_coef=change.ent_coef,
                clip_range=change.clip_range,
            )
            for change in self.changes
        )


def _preset(request: RunRequest, environment: EnvSpec, algorithm: AlgorithmSpec) -> Preset:
    if request.preset is None:
        return Preset(total_timesteps=environment.default_timesteps)
    return presets_for(environment, algorithm)[request.preset]


def _reward_code(request: RunRequest) -> str | None:
    if request.reward_code is None:
        return None
    problem = first_error(request.reward_code, CodeKind.REWARD)
    if problem is not None:
        raise CodeError(problem.message, line=problem.line, field="reward_code")
    return request.reward_code


def _evaluations(request: RunRequest, total_timesteps: int) -> int | None:
    if not request.stop_when_solved:
        return None
    return max(1, total_timesteps // _EVALUATIONS_PER_RUN)


def _check_evaluations(request: RunRequest, total_timesteps: int) -> None:
    if (request.evaluate_every or 0) > total_timesteps:
        raise InputError(
            f"evaluate_every {request.evaluate_every:,} is more than the {total_timesteps:,} steps "
            "of the whole run. Lower it.",
            field="evaluate_every",
        )


def _check_engine(request: RunRequest, why_not_fast: str | None) -> None:
    if request.engine == "fast" and why_not_fast is not None:
        raise InputError(
            f"engine fast can't train this: {why_not_fast}. Use auto or sb3.", field="engine"
        )


def _check_simulator(config: RunConfig) -> None:
    if config.wrappers.simulator != "envpool":
        return
    usual = config.environment.check_kwargs({})
    changed = {name: value for name, value in config.env_kwargs.items() if value != usual[name]}
    why_not = why_no_envpool(config.env_id, changed, config.wrappers, config.algorithm)
    if why_not is not None:
        raise InputError(
            f"wrappers.simulator can't be envpool: {why_not}. Use gymnasium.",
            field="wrappers.simulator",
        )


def _check_solvable(request: RunRequest, environment: EnvSpec) -> None:
    if request.stop_when_solved and environment.solved_threshold is None:
        raise InputError(
            f"{environment.id} has no score from which it counts as solved. "
            "Switch stop_when_solved off.",
            field="stop_when_solved",
        )


def _hyperparameters(
    request: RunRequest, algorithm: AlgorithmSpec, environment: EnvSpec, preset: Preset
) -> dict[str, Value]:
    given = {
        **algorithm.defaults_for(environment),
        **preset.hyperparameters,
        **request.hyperparameters,
    }
    if request.learning_rate is None:
        return algorithm.complete(given)
    if "learning_rate" in request.hyperparameters:
        raise InputError(
            "learning_rate is given twice, at top level and in hyperparameters. Keep one.",
            field="learning_rate",
        )
    given["learning_rate"] = request.learning_rate
    try:
        return algorithm.complete(given)
    except InputError as error:
        # The short form is the field that the person wrote.
        if error.field == "hyperparameters.learning_rate":
            error.field = "learning_rate"
        raise
