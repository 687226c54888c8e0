"""Messages between the lab and the process that talks to the Hugging Face Hub."""

from typing import Annotated, Literal

import msgspec

Text = Annotated[str, msgspec.Meta(max_length=2_000)]
Failure = Literal["wrong_token", "no_rights", "exists", "no_network", "rate_limited", "refused"]
"""Machine-readable reasons of a failure."""


class HubFile(msgspec.Struct, frozen=True, kw_only=True):
    """A file to upload, given by its path, its text or its content."""

    name: str
    path: str | None = None
    member: str | None = None
    """The file in the zip at `path` to upload, instead of the whole zip."""
    text: str | None = None
    content: bytes | None = None


class Curve(msgspec.Struct, frozen=True, kw_only=True):
    """A learning curve to draw."""

    name: str
    points: tuple[tuple[float, float], ...]


class Push(msgspec.Struct, frozen=True, kw_only=True, tag="push"):
    """Upload a model."""

    endpoint: str
    token: str
    repo_id: str
    private: bool
    update: bool
    """Whether an existing repository may be updated."""
    message: str
    files: tuple[HubFile, ...]
    curve: Curve | None = None


class Pull(msgspec.Struct, frozen=True, kw_only=True, tag="pull"):
    """Download a public model, and its observation normalization if it has one."""

    endpoint: str
    repo_id: str
    filename: str | None
    """None means the only zip in the repository."""
    model_to: str
    normalization_to: str
    token: None = None


class Pulled(msgspec.Struct, frozen=True, kw_only=True, tag="pulled"):
    """The download succeeded."""

    filename: Text
    env_id: Text | None
    """The environment that the repository names, if any."""


class Moved(msgspec.Struct, frozen=True, kw_only=True, tag="moved"):
    """Progress of the upload."""

    share: Annotated[float, msgspec.Meta(ge=0, le=1)]
    step: Text


class Done(msgspec.Struct, frozen=True, kw_only=True, tag="done"):
    """The upload succeeded."""

    url: Text


class Failed(msgspec.Struct, frozen=True, kw_only=True, tag="failed"):
    """The order failed."""

    code: Failure
    message: Text


HubMessage = Moved | Done | Pulled | Failed
