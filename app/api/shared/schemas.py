"""The shapes of what the API answers."""

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any, Generic, TypeVar

from pydantic import BaseModel, Field

from app.catalog.environments.options import EnvOption, OptionValue
from app.catalog.environments.spec import EnvSpec
from storage.files.atomic import Artifact as StoredFile
from storage.records.runs import EventRecord, RunRecord, RunStatus, Visibility

T = TypeVar("T")


class Listing(BaseModel, Generic[T]):
    """A part of a list; `next` is the cursor of the part after it."""

    items: list[T]
    next: str | None = None


class Artifact(BaseModel):
    """A file of a run that can be downloaded."""

    name: str
    size: int
    created_at: datetime
    url: str

    @classmethod
    def of(cls, run_id: str, files: Mapping[str, StoredFile]) -> list["Artifact"]:
        """Describe the files of a run."""
        return [
            cls(
                name=name,
                size=file.size,
                created_at=file.created_at,
                url=f"/api/runs/{run_id}/artifacts/{name}",
            )
            for name, file in files.items()
        ]


class Run(BaseModel):
    """A training run."""

    id: str
    name: str
    env_id: str
    algorithm: str
    status: RunStatus
    engine: str
    config: dict[str, Any]
    progress: float = Field(ge=0, le=1)
    timesteps: int
    vec_steps: int
    updates: int
    episodes: int
    latest: dict[str, Any] | None
    best: float | None
    """The best mean reward over 100 episodes."""
    score: float | None
    """The best evaluation beside the training, else the newest mean reward."""
    solved_at: int | None
    created_at: datetime
    updated_at: datetime
    started_at: datetime | None
    finished_at: datetime | None
    elapsed_s: float
    eta_s: float | None
    error: str | None
    owner: str | None
    """The owner's e-mail address; null: made without accounts."""
    visibility: Visibility
    shared_with: list[str] | None
    """Who else may look, for the owner and administrators; null for others."""
    group_id: str | None
    parent: str | None
    tags: list[str]
    notes: str
    archived: bool
    artifacts: list[Artifact]

    @classmethod
    def of(
        cls,
        run: RunRecord,
        files: Mapping[str, StoredFile],
        *,
        owner: str | None,
        shared_with: Sequence[str] | None,
    ) -> "Run":
        """Describe a run and its files."""
        done = run.progress
        return cls(
            id=run.id,
            name=run.name,
            env_id=run.env_id,
            algorithm=run.algorithm,
            status=run.status,
            engine=run.config.get("engine_used", "sb3"),
            config=dict(run.config),
            progress=run.share_done,
            timesteps=done.timesteps,
            vec_steps=done.vec_steps,
            updates=done.updates,
            episodes=done.episodes,
            latest=None if run.latest is None else dict(run.latest),
            best=done.best,
            score=run.score,
            solved_at=done.solved_at,
            created_at=run.created_at,
            updated_at=run.updated_at,
            started_at=run.started_at,
            finished_at=run.finished_at,
            elapsed_s=done.elapsed_s,
            eta_s=run.eta_s,
            error=run.error,
            owner=owner,
            visibility=run.visibility,
            shared_with=None if shared_with is None else list(shared_with),
            group_id=run.group_id,
            parent=run.parent,
            tags=list(run.tags),
            notes=run.notes,
            archived=run.archived,
            artifacts=Artifact.of(run.id, files),
        )


class NewGroup(BaseModel):
    """Runs that differ by their seed only."""

    group_id: str
    runs: list[Run]


class LogEvent(BaseModel):
    """One line of a run's event log."""

    id: int
    timestamp: datetime
    event_type: str
    level: str
    message: str
    data: dict[str, Any]

    @classmethod
    def of(cls, event: EventRecord) -> "LogEvent":
        """Describe an event."""
        return cls(
            id=event.id,
            timestamp=event.timestamp,
            event_type=event.event_type,
            level=event.level,
            message=event.message,
            data=dict(event.data),
        )


class Option(BaseModel):
    """What can be set about an environment with `env_kwargs`."""

    name: str
    type: str
    default: OptionValue
    min: float | None
    max: float | None
    choices: list[str] | None
    nullable: bool
    description: str

    @classmethod
    def of(cls, option: EnvOption) -> "Option":
        """Describe an option."""
        return cls(
            name=option.name,
            type=option.type,
            default=option.default,
            min=option.min,
            max=option.max,
            choices=None if option.choices is None else list(option.choices),
            nullable=option.nullable,
            description=option.description,
        )


class Environment(BaseModel):
    """An environment that can be trained on."""

    id: str
    name: str
    family: str
    description: str
    agents: str
    action_space_type: str
    n_actions: int | None
    action_shape: list[int] | None
    action_labels: list[str]
    obs_space_type: str
    obs_space_dims: list[int]
    obs_labels: list[str]
    obs_bounds: list[tuple[float | None, float | None]]
    reward_range: tuple[float | None, float | None]
    solved_threshold: float | None
    max_episode_steps: int | None
    default_timesteps: int
    default_frame_stack: int
    env_kwargs: list[Option]
    installed: bool
    install_hint: str | None
    preview_url: str

    @classmethod
    def of(cls, spec: EnvSpec) -> "Environment":
        """Describe an environment."""
        return cls(
            id=spec.id,
            name=spec.name,
            family=spec.family,
            description=spec.description,
            agents="single",
            action_space_type=spec.action_kind,
            n_actions=spec.n_actions,
            action_shape=None if spec.action_shape is None else list(spec.action_shape),
            action_labels=list(spec.action_labels),
            obs_space_type=spec.observation_kind,
            obs_space_dims=list(spec.observation_shape),
            obs_labels=[component.name for component in spec.observed],
            obs_bounds=[(component.low, component.high) for component in spec.observed],
            reward_range=spec.reward_range,
            solved_threshold=spec.solved_threshold,
            max_episode_steps=spec.max_episode_steps,
            default_timesteps=spec.default_timesteps,
            default_frame_stack=spec.default_frame_stack,
            env_kwargs=[Option.of(option) for option in spec.options or ()],
            installed=spec.is_installed,
            install_hint=spec.install_hint,
            preview_url=f"/api/environments/{spec.id}/preview.png",
        )
