"""What the lab and a worker say to each other; decoded strictly, never unpickled."""

from typing import Annotated, Any, ClassVar, Literal

import msgspec

from app.algorithms.engine import EngineName
from app.algorithms.schedule import Schedule
from app.environments.wrappers import Wrappers
from app.worker import framing

Number = float | Annotated[int, msgspec.Meta(ge=-(2**53), le=2**53)] | None
"""A measured value; None where it isn't finite."""

Count = Annotated[int, msgspec.Meta(ge=0, le=2**53)]
"""How many of something; no larger than what every reader of JSON can hold."""

Setting = float | int | bool | str | tuple[int, ...] | Schedule | None
"""The value of a hyperparameter."""

MAX_TEXT = 2_000
_MAX_TRACEBACK = 20_000
_MOST = 512
"""How many of something a message may have: names in a line, notes, episodes of an evaluation."""

Text = Annotated[str, msgspec.Meta(max_length=MAX_TEXT)]
MetricName = Annotated[str, msgspec.Meta(max_length=120)]
Values = Annotated[dict[MetricName, Number], msgspec.Meta(max_length=_MOST)]

ShortText = Annotated[str, msgspec.Meta(max_length=MAX_TEXT)]


class _Message(
    msgspec.Struct, frozen=True, kw_only=True, tag_field="t", forbid_unknown_fields=True
):
    """The shape that all messages share."""


class Change(_Message, frozen=True, tag="change"):
    """Go on with other values; None leaves one as it is."""

    learning_rate: float | Schedule | None = None
    ent_coef: float | None = None
    clip_range: float | Schedule | None = None
    total_timesteps: Count | None = None


# From a worker to the lab.


class Locked(_Message, frozen=True, tag="locked"):
    """The worker locked itself down; nothing foreign has run yet."""

    layers: Annotated[tuple[Text, ...], msgspec.Meta(max_length=_MOST)]


class Doors(_Message, frozen=True, tag="doors"):
    """Which attacks the canary worker got through with."""

    open: tuple[str, ...]


class Ready(_Message, frozen=True, tag="ready"):
    """The libraries are imported; the worker waits for its job."""


class Alive(_Message, frozen=True, tag="alive"):
    """The worker is busy with something that takes long."""


class Started(_Message, frozen=True, tag="started"):
    """The model is built and training begins, or goes on where a checkpoint was taken."""

    timesteps: Count = 0
    notes: Annotated[tuple[Text, ...], msgspec.Meta(max_length=_MOST)] = ()
    """What a checkpoint could not bring back exactly."""
    engine: EngineName = "sb3"
    why_not_fast: Text | None = None
    """What the worker found in the environment that the fast engine can't do."""


class Paused(_Message, frozen=True, tag="paused"):
    """Training waits, or goes on again."""

    on: bool


class Changed(_Message, frozen=True, tag="changed"):
    """The model goes on with other values."""

    timesteps: Count


class Noted(_Message, frozen=True, tag="noted"):
    """Something about the run that a person should know."""

    event_type: MetricName
    message: Text
    is_warning: bool = False


class Evaluated(_Message, frozen=True, tag="evaluated"):
    """A policy was judged."""

    timesteps: Count
    """When its weights were taken."""
    returns: tuple[float, ...]
    lengths: tuple[Count, ...]
    truncated: Count
    """How many episodes were cut by a time limit."""

    def is_whole(self, episodes: int) -> bool:
        """Whether it tells of as many episodes as were asked for."""
        return len(self.returns) == len(self.lengths) == episodes >= self.truncated


class Played(_Message, frozen=True, tag="played"):
    """One episode of an evaluation is over."""

    episodes: Count
    """How many are."""


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

    t: Annotated[str, msgspec.Meta(max_length=40)]
    timesteps: Count
    vec_steps: Count
    updates: Count
    episode: Count
    elapsed_s: float
    fps: Number
    progress: float
    values: Values
    agents: Annotated[dict[MetricName, Values], msgspec.Meta(max_length=_MOST)] = {}
    """What was measured of each agent; a single one has the name `agent`."""

    def flat(self) -> dict[str, Any]:
        """Return it as one object; what says when it was can't be overwritten."""
        agents = {"agents": self.agents} if self.agents else {}
        return {**self.values, **agents, **{name: getattr(self, name) for name in _WHEN}}


_WHEN = tuple(name for name in Line.__struct_fields__ if name not in ("values", "agents"))


class Measured(_Message, frozen=True, tag="measured"):
    """New lines of metrics, oldest first."""

    lines: tuple[Line, ...]


EndReason = Literal["budget", "stopped", "solved"]
"""Why a job is done."""


class Finished(_Message, frozen=True, tag="finished"):
    """The job is done and everything was delivered."""

    reason: EndReason


class Failed(_Message, frozen=True, tag="failed"):
    """The job ended by an error of its own."""

    reason: Text
    traceback: Annotated[str, msgspec.Meta(max_length=_MAX_TRACEBACK)]


class Component(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One number of an observation; a bound of None is infinite."""

    name: ShortText
    low: Number
    high: Number


class Described(_Message, frozen=True, tag="described"):
    """What an environment is like for the agent."""

    action_kind: Literal["discrete", "continuous", "multi_discrete", "multi_binary"]
    n_actions: Count | None
    action_shape: tuple[Count, ...] | None
    observation_kind: Literal["box", "discrete", "multi_discrete", "multi_binary", "dict", "image"]
    observation_shape: tuple[Count, ...]
    observed: tuple[Component, ...]
    max_episode_steps: Count | None
    reward_threshold: Number
    frame_stack: Count
    repeats_itself: bool
    renders: bool


class NotDescribed(_Message, frozen=True, tag="not_described"):
    """There is no such environment, or it can't be trained on."""

    is_known: bool
    why: ShortText


FromWorker = (
    Locked
    | Doors
    | Ready
    | Alive
    | Started
    | Paused
    | Changed
    | Noted
    | Evaluated
    | Played
    | Progressed
    | Measured
    | Described
    | NotDescribed
    | Finished
    | Failed
)


FileName = Literal[
    "model.zip",
    "vecnormalize.pkl",
    "policy.pt",
    "best.zip",
    "best-vecnormalize.pkl",
    "best.pt",
    "preview.png",
    "avatar.png",
    "checkpoint.pt",
    "checkpoint.zip",
]
"""What is sent in pieces."""


class AgentFrame(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """How one agent of a picture does."""

    reward: float
    return_: float = msgspec.field(name="return")


class FrameHeader(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What a picture shows."""

    kind: Literal["training", "evaluation", "preview", "replay"]
    episode: Count
    step: Count
    reward: float
    return_: float = msgspec.field(name="return")
    agents: dict[str, AgentFrame] = {}
    """The same for each agent; a single one has the name `agent`."""


class BlobHeader(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Which file a piece belongs to."""

    name: FileName
    last: bool
    timesteps: Count = 0
    """When it was taken, if it is a checkpoint."""
    lines: Count = 0
    """How many lines of metrics had been told by then."""


class WeightsHeader(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """When the weights were taken."""

    episode: Count
    timesteps: Count
    purpose: Literal["view", "evaluation"] = "view"


# From the lab to a worker.


class Setup(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """An environment as it is played, and the model that plays it."""

    env_id: str
    algorithm: str
    hyperparameters: dict[str, Setting]
    env_kwargs: dict[str, Any] = {}
    wrappers: Wrappers = Wrappers()
    engine: EngineName = "sb3"


class Train(_Message, frozen=True, tag="train"):
    """Train a model."""

    setup: Setup
    total_timesteps: int
    seed: int
    n_envs: int
    evaluate_every: int | None = None
    """After so many steps the policy is handed out to be evaluated."""
    solved_from: float | None = None
    """End once evaluations stay at this return or above it."""
    resume: bool = False
    """Whether a checkpoint follows, from which to go on."""
    transfer: bool = False
    """Whether the policy of another run follows, to begin with."""
    changes: tuple[Change, ...] = ()
    """What was changed before; a checkpoint may be older."""

    @property
    def has_file(self) -> bool:
        """Whether something follows before training can begin."""
        return self.resume or self.transfer


class View(_Message, frozen=True, tag="view"):
    """Play the policy whose weights follow, and send pictures of it."""

    setup: Setup
    fps: int


class Evaluate(_Message, frozen=True, tag="evaluate"):
    """Judge every policy whose weights follow, until told to stop."""

    setup: Setup
    episodes: int
    seed: int
    deterministic: bool = True
    tells_each: bool = False
    """Whether to say when an episode is over."""


class Picture(_Message, frozen=True, tag="picture"):
    """Render one picture of each environment, in this order."""

    env_ids: tuple[str, ...]


class Describe(_Message, frozen=True, tag="describe"):
    """Say what an environment is like."""

    env_id: str
    env_kwargs: dict[str, Any] = {}


class Shrink(_Message, frozen=True, tag="shrink"):
    """Make a small square picture of the one that follows, which anybody may have made."""

    side: int
    has_file: ClassVar[bool] = True


class Watch(_Message, frozen=True, tag="watch"):
    """Somebody looks, or nobody does any more: send weights, or don't."""

    on: bool


class Pause(_Message, frozen=True, tag="pause"):
    """Wait until told otherwise, or go on."""

    on: bool


class Judged(_Message, frozen=True, tag="judged"):
    """What the policy that was handed out at some step is worth."""

    timesteps: Count
    returns: tuple[float, ...]
    lengths: tuple[Count, ...]


class Stop(_Message, frozen=True, tag="stop"):
    """End the job as soon as possible and deliver what there is."""


Job = Train | View | Evaluate | Picture | Describe | Shrink
Command = Job | Watch | Pause | Change | Judged | Stop

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
