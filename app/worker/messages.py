"""What the lab and a worker say to each other; decoded strictly, never unpickled."""

from typing import Annotated, Literal

import msgspec

from app.worker import framing

Number = float | int | None
"""A measured value; None where it isn't finite."""

Count = Annotated[int, msgspec.Meta(ge=0, le=2**53)]
"""How many of something; no larger than what every reader of JSON can hold."""

MAX_TEXT = 2_000


class _Message(
    msgspec.Struct, frozen=True, kw_only=True, tag_field="t", forbid_unknown_fields=True
):
    """The shape that all messages share."""


# From a worker to the lab.


class Locked(_Message, frozen=True, tag="locked"):
    """The worker locked itself down; nothing foreign has run yet."""

    layers: tuple[str, ...]


class Doors(_Message, frozen=True, tag="doors"):
    """Which attacks the canary worker got through with."""

    open: tuple[str, ...]


class Ready(_Message, frozen=True, tag="ready"):
    """The libraries are imported; the worker waits for its job."""


class Started(_Message, frozen=True, tag="started"):
    """The model is built and training begins, or goes on where a checkpoint was taken."""

    timesteps: Count = 0
    notes: tuple[str, ...] = ()
    """What a checkpoint could not bring back exactly."""


class Paused(_Message, frozen=True, tag="paused"):
    """Training waits, or goes on again."""

    on: bool


class Progressed(_Message, frozen=True, tag="progressed"):
    """How far training has come; sent about twice a second while anything moves."""

    timesteps: Count
    vec_steps: Count
    updates: Count
    episodes: Count
    elapsed_s: float
    fps: float | None


class Line(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One line of metrics: when it was, and what was measured."""

    t: str
    timesteps: Count
    vec_steps: Count
    updates: Count
    episode: Count
    elapsed_s: float
    fps: Number
    progress: float
    values: dict[str, Number]

    def flat(self) -> dict[str, Number | str]:
        """Return it as one object; what says when it was can't be overwritten."""
        return {**self.values, **{name: getattr(self, name) for name in _WHEN}}


_WHEN = tuple(name for name in Line.__struct_fields__ if name != "values")


class Measured(_Message, frozen=True, tag="measured"):
    """New lines of metrics, oldest first."""

    lines: tuple[Line, ...]


class Finished(_Message, frozen=True, tag="finished"):
    """The job is done and everything was delivered."""

    reason: Literal["budget", "stopped"]


class Failed(_Message, frozen=True, tag="failed"):
    """The job ended by an error of its own."""

    reason: str
    traceback: str


FromWorker = Locked | Doors | Ready | Started | Paused | Progressed | Measured | Finished | Failed


class FrameHeader(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What a picture shows."""

    kind: Literal["training", "evaluation", "preview", "replay"]
    episode: Count
    step: Count
    reward: float
    return_: float = msgspec.field(name="return")


class BlobHeader(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Which file a piece belongs to."""

    name: Literal["model.zip", "preview.png", "checkpoint.zip"]
    last: bool
    timesteps: Count = 0
    """When it was taken, if it is a checkpoint."""
    lines: Count = 0
    """How many lines of metrics had been told by then."""


class WeightsHeader(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """When the weights were taken."""

    episode: Count
    timesteps: Count


# From the lab to a worker.


class Train(_Message, frozen=True, tag="train"):
    """Train a model."""

    env_id: str
    algorithm: str
    total_timesteps: int
    seed: int
    n_envs: int
    hyperparameters: dict[str, Number | bool | str | tuple[int, ...]]
    resume: bool = False
    """Whether a checkpoint follows, from which to go on."""


class View(_Message, frozen=True, tag="view"):
    """Play the policy whose weights follow, and send pictures of it."""

    env_id: str
    algorithm: str
    hyperparameters: dict[str, Number | bool | str | tuple[int, ...]]
    fps: int


class Picture(_Message, frozen=True, tag="picture"):
    """Render one picture of an environment."""

    env_id: str


class Watch(_Message, frozen=True, tag="watch"):
    """Somebody looks, or nobody does any more: send weights, or don't."""

    on: bool


class Pause(_Message, frozen=True, tag="pause"):
    """Wait until told otherwise, or go on."""

    on: bool


class Stop(_Message, frozen=True, tag="stop"):
    """End the job as soon as possible and deliver what there is."""


Job = Train | View | Picture
Command = Job | Watch | Pause | Stop

_COMMANDS = msgspec.json.Decoder(Command)


def encode(message: _Message) -> bytes:
    """Return `message` as a frame."""
    return framing.pack(framing.JSON, msgspec.json.encode(message))


def decode_command(content: bytes) -> Command:
    """Read what the lab sent."""
    command: Command = _COMMANDS.decode(content)
    return command


def encode_header(header: FrameHeader) -> bytes:
    """Return what a picture shows as JSON, to keep it beside the picture."""
    return msgspec.json.encode(header)


def decode_header(content: bytes) -> FrameHeader:
    """Read what `encode_header` returned."""
    return msgspec.json.decode(content, type=FrameHeader)
