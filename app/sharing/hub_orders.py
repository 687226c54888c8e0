"""What the lab and the process that speaks with the Hugging Face Hub say to each other."""

from typing import Annotated, Literal

import msgspec

Text = Annotated[str, msgspec.Meta(max_length=2_000)]
Failure = Literal["wrong_token", "no_rights", "exists", "no_network", "rate_limited", "refused"]
"""Why something can't be done, for programs."""


class HubFile(msgspec.Struct, frozen=True, kw_only=True):
    """A file to upload: where it lies, or what it says."""

    name: str
    path: str | None = None
    text: str | None = None


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
    """Whether the repository may exist already."""
    message: str
    files: tuple[HubFile, ...]
    curve: Curve | None = None


class Pull(msgspec.Struct, frozen=True, kw_only=True, tag="pull"):
    """Download a public model, and the scaling of its observations if it has one."""

    endpoint: str
    repo_id: str
    filename: str | None
    """None: the only zip there is."""
    model_to: str
    scaling_to: str
    token: None = None


class Pulled(msgspec.Struct, frozen=True, kw_only=True, tag="pulled"):
    """It is there."""

    filename: Text
    env_id: Text | None
    """The environment that the repository names, if it names one."""


class Moved(msgspec.Struct, frozen=True, kw_only=True, tag="moved"):
    """How far it has come."""

    share: Annotated[float, msgspec.Meta(ge=0, le=1)]
    what: Text


class Done(msgspec.Struct, frozen=True, kw_only=True, tag="done"):
    """It is there."""

    url: Text


class Failed(msgspec.Struct, frozen=True, kw_only=True, tag="failed"):
    """It isn't, and why."""

    code: Failure
    sentence: Text


Said = Moved | Done | Pulled | Failed
