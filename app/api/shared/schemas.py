"""API schemas that several routes share."""

from collections.abc import Mapping
from datetime import datetime
from typing import Any, Generic, TypeVar

from pydantic import AliasPath, BaseModel, Field

from app.api.shared.shapes import Shape
from app.catalog.environments import OptionValue
from storage.files import Artifact as StoredFile
from storage.records import RunStatus, ScoreKind, SolvedBy, Visibility

T = TypeVar("T")


class Listing(BaseModel, Generic[T]):
    """A page of a list; `next` is the cursor of the next page."""

    items: list[T]
    next: str | None = None


class Artifact(Shape):
    """A downloadable file of a run."""

    name: str
    size: int
    created_at: datetime
    url: str


def artifacts_of(run_id: str, files: Mapping[str, StoredFile]) -> list[Artifact]:
    """Describe the files of a run."""
    return [
        Artifact.of(file, name=name, url=f"/api/runs/{run_id}/artifacts/{name}")
        for name, file in files.items()
    ]


def _progress(name: str) -> Any:  # noqa: ANN401 - a field of any type
    return Field(validation_alias=AliasPath("progress", name))


class Run(Shape):
    """A training run."""

    id: str
    name: str
    env_id: str
    environment_label: str
    """The environment, with the protocol if its id stands for another one."""
    algorithm: str
    status: RunStatus
    engine: str
    config: dict[str, Any]
    progress: float = Field(validation_alias="share_done", ge=0, le=1)
    timesteps: int = _progress("timesteps")
    vec_steps: int = _progress("vec_steps")
    updates: int = _progress("updates")
    episodes: int = _progress("episodes")
    latest: dict[str, Any] | None
    best: float | None = _progress("best")
    """Best mean reward over 100 episodes."""
    score: float | None
    """How good its policy is; `score_kind` tells by which measurement."""
    score_kind: ScoreKind | None
    """The final evaluation of the final policy, else the last periodic evaluation, else the
    training mean."""
    human_normalized: float | None
    """`score` relative to random (0) and human (1) play, for Atari games as they are under either
    protocol; None with other options or another time limit, and for training means."""
    solved_at: int | None = _progress("solved_at")
    """The step of the policy that was found to solve the environment."""
    solved_by: SolvedBy | None = _progress("solved_by")
    created_at: datetime
    updated_at: datetime
    started_at: datetime | None
    finished_at: datetime | None
    elapsed_s: float = _progress("elapsed_s")
    eta_s: float | None
    error: str | None
    owner: str | None
    """The owner's e-mail address; null: created without accounts."""
    visibility: Visibility
    shared_with: list[str] | None
    """Addresses of its readers, for the owner and administrators; null for others."""
    group_id: str | None
    parent: str | None
    tags: list[str]
    notes: str
    archived: bool
    artifacts: list[Artifact]


class NewGroup(BaseModel):
    """A new seed group: runs that differ only in their seed."""

    group_id: str
    runs: list[Run]


class LogEvent(Shape):
    """An entry of a run's event log."""

    id: int
    timestamp: datetime
    event_type: str
    level: str
    message: str
    data: dict[str, Any]


class Option(Shape):
    """An option of an environment, set with `env_kwargs`."""

    name: str
    type: str
    default: OptionValue
    min: float | None
    max: float | None
    choices: list[str] | None
    nullable: bool
    description: str


class Environment(Shape):
    """An environment for training."""

    id: str
    name: str
    family: str
    description: str
    agents: str = Field(default_factory=lambda: "single")
    action_space_type: str = Field(validation_alias="action_kind")
    n_actions: int | None
    action_shape: list[int] | None
    action_labels: list[str]
    obs_space_type: str = Field(validation_alias="observation_kind")
    obs_space_dims: list[int] = Field(validation_alias="observation_shape")
    obs_labels: list[str] = Field(validation_alias="observation_labels")
    obs_bounds: list[tuple[float | None, float | None]] = Field(
        validation_alias="observation_bounds"
    )
    reward_range: tuple[float | None, float | None]
    solved_threshold: float | None
    max_episode_steps: int | None
    default_timesteps: int
    default_frame_stack: int
    env_kwargs: list[Option] = Field(validation_alias="known_options")
    installed: bool = Field(validation_alias="is_installed")
    install_hint: str | None
    preview_url: str = Field(
        default_factory=lambda known: f"/api/environments/{known['id']}/preview.png"
    )
