"""The complete, checked configuration of a run, made from a request."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Annotated, Any, Literal, Self

from pydantic import BaseModel, ConfigDict, Field

from app.catalog.algorithms import AlgorithmSpec, Group, Value, get_algorithm
from app.catalog.environments import (
    EnvSpec,
    ObservationKind,
    environment_of_run,
    get_environment,
    why_no_envpool,
    with_options_of_id,
)
from app.catalog.presets import Preset, PresetName, default_preset, get_preset
from app.code_check import CodeKind, first_error
from app.core import CodeError, InputError
from app.protocol import FRAME_SKIP, Schedule, ScheduleMode, Wrappers, commands, messages
from app.run_config.engine import EngineChoice, why_not_fast, why_this_engine
from app.run_config.evaluation_options import EvaluationOptions
from app.run_config.request import MAX_SEED, RunRequest
from app.run_config.seeds import draw_seed
from app.run_config.wrapper_options import read_wrappers

_EVALUATIONS_PER_RUN = 20
"""Default number of evaluations of a run with `stop_when_solved`."""


_OF_BUDGET = ("total_timesteps", "schedules")
"""The values of a live change that concern the budget."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AppliedChange:
    """A `messages.Change` with the step from which it applies, as stored in `config.json`."""

    timesteps: int
    learning_rate: float | Schedule | None = None
    ent_coef: float | None = None
    clip_range: float | Schedule | None = None
    total_timesteps: int | None = None
    schedules: ScheduleMode | None = None

    @property
    def values(self) -> dict[str, Any]:
        """The changed values by name."""
        given = {name: getattr(self, name) for name in messages.Change.__struct_fields__}
        return {name: value for name, value in given.items() if value is not None}

    @property
    def hyperparameters(self) -> dict[str, Any]:
        """The changed values without the budget."""
        return {name: value for name, value in self.values.items() if name not in _OF_BUDGET}


@dataclass(frozen=True, slots=True, kw_only=True)
class Origin:
    """Where a run's policy is from, if it was trained elsewhere."""

    source: Annotated[str, Field(max_length=500)]
    """The URL of its repository."""
    file: Annotated[str, Field(max_length=500)]
    unknown: tuple[Annotated[str, Field(max_length=80)], ...] = Field(default=(), max_length=64)
    """Values of the config that the file doesn't tell, or that the lab can't represent."""


class RunConfig(BaseModel):
    """Everything a worker needs to reproduce a run; later code doesn't check it again."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    env_id: str
    algorithm: str
    total_timesteps: int
    schedule_timesteps: int | None = Field(default=None, ge=1)
    """The step at which schedules and exploration end; None: at the end of the budget."""
    seed: int = Field(ge=0, le=MAX_SEED)
    n_envs: int
    hyperparameters: dict[str, Value]
    preset: PresetName | None = None
    env_kwargs: dict[str, Any] = {}
    wrappers: Wrappers = Wrappers()
    engine: EngineChoice = "auto"
    """The engine that was requested."""
    engine_used: commands.EngineName = "sb3"
    engine_reason: str | None = None
    """Why this engine is used; None for runs of earlier versions."""
    stop_when_solved: bool = False
    evaluate_every: int | None = None
    evaluation: EvaluationOptions = EvaluationOptions()
    reward_code: str | None = None
    env_code: str | None = None
    """The code of a custom environment at the time when the run was created."""
    init_from: str | None = None
    origin: Origin | None = None
    """Set if it was pulled from the Hub; then its hyperparameters are those of the file."""
    changes: tuple[AppliedChange, ...] = ()
    """The live changes, oldest first."""
    layout: Literal[2] = 2
    """The version of this layout; `stored.py` converts those without one."""

    @classmethod
    def from_request(cls, request: RunRequest) -> Self:
        """Fill in the defaults and check the combination of values.

        Raises:
            InputError: if the environment, the algorithm or a value can't be used.
        """
        environment = get_environment(request.env_id, request.env_kwargs)
        environment.check_installed()
        algorithm = get_algorithm(request.algorithm)
        algorithm.check_fits(environment)
        preset = _preset(request, environment, algorithm)
        total = request.total_timesteps or preset.total_timesteps
        _check_evaluations(request, total)
        wrappers = read_wrappers({**preset.wrappers, **request.wrappers}, environment)
        stacked = replace(environment, default_frame_stack=wrappers.frame_stack)
        hyperparameters = _hyperparameters(request, algorithm, stacked, preset)
        why_not = why_not_fast(algorithm, hyperparameters, environment.observation_kind)
        _check_engine(request, why_not)
        config = cls(
            env_id=environment.id,
            algorithm=algorithm.id,
            total_timesteps=total,
            seed=draw_seed() if request.seed is None else request.seed,
            n_envs=request.n_envs or preset.n_envs or algorithm.default_n_envs,
            hyperparameters=hyperparameters,
            preset=request.preset,
            env_kwargs=environment.check_kwargs(
                with_options_of_id(request.env_id, request.env_kwargs)
            ),
            wrappers=wrappers,
            engine=request.engine,
            engine_used="sb3" if why_not or request.engine == "sb3" else "fast",
            engine_reason=why_this_engine(request.engine, why_not),
            stop_when_solved=request.stop_when_solved,
            evaluate_every=request.evaluate_every or _evaluations(request, total),
            evaluation=request.evaluation,
            reward_code=_reward_code(request),
            env_code=environment.code,
            init_from=request.init_from,
        )
        _check_layers(config.hyperparameters, environment)
        algorithm.check_together(config.hyperparameters, config.n_envs, stacked)
        _check_simulator(config)
        _check_solvable(config, environment)
        return config

    @property
    def environment(self) -> EnvSpec:
        """The spec of the environment with these options and wrappers, as evaluations use it."""
        spec = environment_of_run(self.env_id, self.env_kwargs).wrapped(self.wrappers)
        if self.evaluation.disturbances and self.wrappers.disturbances:
            return replace(spec, solved_threshold=None)
        return spec

    @property
    def usual_step_limit(self) -> int | None:
        """After how many steps of the agent episodes are truncated without a `time_limit`."""
        frames = self.environment.max_episode_steps
        return None if frames is None else -(-frames // self.wrappers.frame_skip)

    @property
    def step_limit(self) -> int | None:
        """After how many steps of the agent episodes are truncated."""
        own = self.wrappers.time_limit
        if own is None:
            return self.usual_step_limit
        if self.wrappers.time_limit_unit == "steps":
            return own
        per_step = FRAME_SKIP if self.environment.family == "atari" else 1
        return -(-own // (per_step * self.wrappers.frame_skip))

    def setup(self) -> commands.Setup:
        """Return what a worker needs to create the environment and the model."""
        algorithm = get_algorithm(self.algorithm)
        layers = self.hyperparameters.get("net_arch")
        plain = {n: v for n, v in self.hyperparameters.items() if not isinstance(v, dict)}
        of_policy = {one.name for one in algorithm.hyperparameters if one.group is Group.NETWORK}
        return commands.Setup(
            env_id=self.env_id,
            algorithm=self.algorithm,
            masks_actions=algorithm.masks_actions,
            hyperparameters={n: v for n, v in plain.items() if n not in of_policy},
            policy={n: v for n, v in plain.items() if n in of_policy},
            networks=layers if isinstance(layers, dict) else {},
            env_kwargs=self.env_kwargs,
            env_code=self.env_code,
            wrappers=self.wrappers,
            engine=self.engine_used,
            repeats_itself=self.environment.repeats_itself,
        )

    def job(self) -> commands.Train:
        """Return the job to train from the beginning."""
        return commands.Train(
            setup=self.setup(),
            total_timesteps=self.total_timesteps,
            schedule_timesteps=self.schedule_timesteps,
            seed=self.seed,
            n_envs=self.n_envs,
            evaluate_every=self.evaluate_every,
            evaluate_above=self.evaluation.start_above,
            reward=self.reward,
        )

    @property
    def schedule_end(self) -> int:
        """The step at which schedules and exploration end."""
        return self.schedule_timesteps or self.total_timesteps

    @property
    def reward(self) -> commands.Reward | None:
        """The custom reward in the form that workers use, if there is one."""
        if self.reward_code is None:
            return None
        components = tuple(component.attribute for component in self.environment.observed)
        return commands.Reward(code=self.reward_code, components=components)

    def all_changes(self) -> tuple[messages.Change, ...]:
        """Return all changes so far without the budget, oldest first.

        Reapplying changes that a checkpoint already contains has no effect.
        """
        return tuple(messages.Change(**change.hyperparameters) for change in self.changes)


def _preset(request: RunRequest, environment: EnvSpec, algorithm: AlgorithmSpec) -> Preset:
    if request.preset is None:
        return default_preset(environment, algorithm)
    return get_preset(environment, algorithm, request.preset)


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
    defaults = config.environment.check_kwargs({})
    changed = {name: value for name, value in config.env_kwargs.items() if value != defaults[name]}
    masks = get_algorithm(config.algorithm).masks_actions
    why_not = why_no_envpool(config.env_id, changed, config.wrappers, masks_actions=masks)
    if why_not is not None:
        raise InputError(
            f"wrappers.simulator can't be envpool: {why_not}. Use gymnasium.",
            field="wrappers.simulator",
        )


def _check_layers(hyperparameters: Mapping[str, Value], environment: EnvSpec) -> None:
    layers = hyperparameters.get("net_arch", (1,))
    each = layers.values() if isinstance(layers, dict) else (layers,)
    if () in each and environment.observation_kind is not ObservationKind.IMAGE:
        raise InputError(
            f"net_arch without layers needs image observations, for whose CNN it suffices. "
            f"Give {environment.id} at least one layer.",
            field="hyperparameters.net_arch",
        )


def _check_solvable(config: RunConfig, environment: EnvSpec) -> None:
    if not config.stop_when_solved or config.environment.solved_threshold is not None:
        return
    reason = f"{environment.id} has no solved threshold"
    if environment.solved_threshold is not None:
        reason = (
            "the solved threshold is that of the environment itself, and the time limit, frame "
            "skip or disturbances of evaluations make it another task"
        )
    elif get_environment(environment.id).solved_threshold is not None:
        reason = f"{environment.id} has a solved threshold with its default options only"
    raise InputError(
        f"The run can't stop when solved: {reason}. Switch stop_when_solved off.",
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
        # The user wrote the short form of this field.
        if error.field == "hyperparameters.learning_rate":
            error.field = "learning_rate"
        raise
