"""What a worker says to the lab; decoded strictly, never unpickled."""

from typing import Annotated, Any, Literal

import msgspec

from app.protocol import framing
from app.protocol.engine import EngineName
from app.protocol.schedule import Schedule

Number = float | Annotated[int, msgspec.Meta(ge=-(2**53), le=2**53)] | None
"""A measured value; None where it isn't finite."""

OwnNumber = Annotated[float, msgspec.Meta(ge=-1e15, le=1e15)]
"""What a person's code says of an episode; so that sums of them stay finite."""

Count = Annotated[int, msgspec.Meta(ge=0, le=2**53)]
"""How many of something; no larger than what every reader of JSON can hold."""

MAX_TEXT = 2_000
_MAX_TRACEBACK = 20_000
_MOST_TERMS = 32
_MOST = 512
"""How many of something a message may have: names in a line, notes, episodes of an evaluation."""

Text = Annotated[str, msgspec.Meta(max_length=MAX_TEXT)]
MetricName = Annotated[str, msgspec.Meta(max_length=120)]
Values = Annotated[dict[MetricName, Number], msgspec.Meta(max_length=_MOST)]

ShortText = Annotated[str, msgspec.Meta(max_length=MAX_TEXT)]


class Message(msgspec.Struct, frozen=True, kw_only=True, tag_field="t", forbid_unknown_fields=True):
    """The shape that all messages share."""


class Change(Message, frozen=True, tag="change"):
    """Go on with other values; None leaves one as it is."""

    learning_rate: float | Schedule | None = None
    ent_coef: float | None = None
    clip_range: float | Schedule | None = None
    total_timesteps: Count | None = None


# From a worker to the lab.


class Locked(Message, frozen=True, tag="locked"):
    """The worker locked itself down, and waits for its job."""

    layers: Annotated[tuple[Text, ...], msgspec.Meta(max_length=_MOST)]


class Doors(Message, frozen=True, tag="doors"):
    """Which attacks the canary worker got through with."""

    open: tuple[str, ...]


class Alive(Message, frozen=True, tag="alive"):
    """The worker is busy with something that takes long."""


class Started(Message, frozen=True, tag="started"):
    """The model is built and training begins, or goes on where a checkpoint was taken."""

    timesteps: Count = 0
    notes: Annotated[tuple[Text, ...], msgspec.Meta(max_length=_MOST)] = ()
    """What a checkpoint could not bring back exactly."""
    engine: EngineName = "sb3"
    why_not_fast: Text | None = None
    """What the worker found in the environment that the fast engine can't do."""


class Paused(Message, frozen=True, tag="paused"):
    """Training waits, or goes on again."""

    on: bool


class Changed(Message, frozen=True, tag="changed"):
    """The model goes on with other values."""

    timesteps: Count


class Noted(Message, frozen=True, tag="noted"):
    """Something about the run that a person should know."""

    event_type: MetricName
    message: Text
    is_warning: bool = False


class Evaluated(Message, frozen=True, tag="evaluated"):
    """A policy was judged."""

    timesteps: Count
    """When its weights were taken."""
    returns: tuple[float, ...]
    lengths: tuple[Count, ...]
    truncated: Count
    """How many episodes were cut by a time limit."""
    custom: tuple[dict[MetricName, OwnNumber], ...] = ()
    """What a person's code says of each episode."""

    def is_whole(self, episodes: int, *, by_code: bool = False) -> bool:
        """Whether it tells of as many episodes as were asked for, and what code says of each."""
        has_custom = len(self.custom) == (episodes if by_code else 0)
        has_names = all(one.keys() == self.custom[0].keys() for one in self.custom)
        is_all = len(self.returns) == len(self.lengths) == episodes >= self.truncated
        return is_all and has_custom and has_names


class Played(Message, frozen=True, tag="played"):
    """One episode of an evaluation is over."""

    episodes: Count
    """How many are."""
    returned: float
    length: Count
    """What the last one brought, and how many steps it had."""


class Filmed(Message, frozen=True, tag="filmed"):
    """The film of some episodes; its file follows unless there are no pictures."""

    pictures: Count
    fps: float
    width: Count
    height: Count
    is_cut: bool = False
    """Whether the episodes go on after its end: a film has a longest time and a largest size."""
    why_not: Text | None = None
    """Why there are no pictures, or no more of them."""


class Clipped(Message, frozen=True, tag="clipped"):
    """A clip of a policy was filmed; it follows on its film."""

    score: Number
    """What the whole episode brought that the clip begins with; None if it didn't end."""


class Moment(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One step of a policy: what it saw, how it weighed its actions, what it did."""

    episode: Count
    picture: Count
    """Which picture of the film shows it."""
    seen: Annotated[tuple[float, ...], msgspec.Meta(max_length=_MOST)]
    action: Annotated[tuple[float, ...], msgspec.Meta(max_length=_MOST)]
    reward: float
    weighed: Annotated[tuple[float, ...], msgspec.Meta(max_length=_MOST)]
    value: float | None
    terms: Annotated[dict[MetricName, float], msgspec.Meta(max_length=_MOST_TERMS)] = {}
    """What each term of a reward that somebody wrote was, if the run learned from one."""


class Replay(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The first steps of an evaluation, one by one."""

    weighs: Literal["probability", "q_value"] | None
    moments: Annotated[tuple[Moment, ...], msgspec.Meta(max_length=10_000)]


class Progressed(Message, frozen=True, tag="progressed"):
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
    terms: Annotated[dict[MetricName, Number], msgspec.Meta(max_length=_MOST_TERMS)] = {}
    """What each term of a reward that somebody wrote brought in an episode."""

    def flat(self) -> dict[str, Any]:
        """Return it as one object; what says when it was can't be overwritten."""
        more = {name: getattr(self, name) for name in _GROUPS if getattr(self, name)}
        return {**self.values, **more, **{name: getattr(self, name) for name in _WHEN}}


_GROUPS = ("agents", "terms")
_WHEN = tuple(name for name in Line.__struct_fields__ if name not in ("values", *_GROUPS))


class Measured(Message, frozen=True, tag="measured"):
    """New lines of metrics, oldest first."""

    lines: tuple[Line, ...]


EndReason = Literal["budget", "stopped", "solved"]
"""Why a job is done."""


class Finished(Message, frozen=True, tag="finished"):
    """The job is done and everything was delivered."""

    reason: EndReason


class Failed(Message, frozen=True, tag="failed"):
    """The job ended by an error of its own."""

    reason: Text
    traceback: Annotated[str, msgspec.Meta(max_length=_MAX_TRACEBACK)]
    line: Count | None = None
    """Where in the code that a person wrote, if it is the reason."""


class Component(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One number of an observation; a bound of None is infinite."""

    name: ShortText
    low: Number
    high: Number


class Described(Message, frozen=True, tag="described"):
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
    action_names: Annotated[tuple[ShortText, ...], msgspec.Meta(max_length=_MOST)] = ()


class NotDescribed(Message, frozen=True, tag="not_described"):
    """There is no such environment, or it can't be trained on."""

    is_known: bool
    why: ShortText


class Finding(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What a check of a person's environment found."""

    check: Literal[
        "loading", "spaces", "gymnasium", "repeats", "rendering", "episodes", "speed", "memory"
    ]
    level: Literal["ok", "warning", "error"]
    message: Text
    line: Count | None = None
    """Which line of the file is to blame, where that is known."""


class Inspected(Message, frozen=True, tag="inspected"):
    """Whether an environment that a person wrote can be trained on."""

    findings: Annotated[tuple[Finding, ...], msgspec.Meta(max_length=_MOST)]
    described: Described | None = None
    """None: it can't be."""
    steps_per_second: float | None = None
    has_picture: bool = False
    """Whether a picture of it follows."""


Action = int | Annotated[tuple[float, ...], msgspec.Meta(max_length=_MOST)]
"""What is done in a step: one of several choices, or a list of numbers."""

Fact = bool | Number | Text
"""Something that an environment tells about a step."""


class Opened(Message, frozen=True, tag="opened"):
    """An environment can be tried out."""

    lows: Annotated[tuple[Number, ...], msgspec.Meta(max_length=_MOST)]
    """The least that each number of an action may be; None: there is no bound."""
    highs: Annotated[tuple[Number, ...], msgspec.Meta(max_length=_MOST)]
    fps: float
    """How many steps a second are its own speed."""
    draws: bool = True
    """Whether there are pictures of it."""


class Happened(Message, frozen=True, tag="happened"):
    """Where an environment that is tried out stands now."""

    order: Count
    """The newest order that was carried out."""
    episode: Count
    step: Count
    seed: Count
    action: Action | None
    """What was done last; None at the beginning of an episode."""
    observation: Annotated[tuple[Number, ...], msgspec.Meta(max_length=_MOST)] | None
    """None where it is pixels, or too long to read."""
    reward: float
    return_: float = msgspec.field(name="return")
    terminated: bool
    truncated: bool
    info: Annotated[dict[MetricName, Fact], msgspec.Meta(max_length=_MOST)]
    is_exact: bool = True
    """Whether it is where it was before, after a step was taken back."""


class PlayedAtRandom(Message, frozen=True, tag="played_at_random"):
    """What whole episodes of random actions brought."""

    returns: Annotated[tuple[float, ...], msgspec.Meta(max_length=_MOST)]


class Term(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One term of a reward over many steps."""

    name: MetricName
    mean: float
    std: float
    min: float
    max: float
    share: float
    """Its part of all that is paid, signs aside."""
    outliers: Count
    histogram: Annotated[tuple[Count, ...], msgspec.Meta(max_length=_MOST)]
    """How many values are in each of some bins of equal width, from `min` to `max`."""


class Scored(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What a reward pays for some episodes, beside what the environment does."""

    name: ShortText
    kind: Literal["random", "medium", "good", "probe"]
    origin: ShortText
    returns: Annotated[tuple[float, ...], msgspec.Meta(max_length=_MOST)]
    discounted: Annotated[tuple[float, ...], msgspec.Meta(max_length=_MOST)]
    """The same with what comes later counting less."""
    own_returns: Annotated[tuple[float, ...], msgspec.Meta(max_length=_MOST)]
    lengths: Annotated[tuple[Count, ...], msgspec.Meta(max_length=_MOST)]


class RewardChecked(Message, frozen=True, tag="reward_checked"):
    """What a reward pays for recorded episodes."""

    terms: Annotated[tuple[Term, ...], msgspec.Meta(max_length=_MOST_TERMS)]
    groups: Annotated[tuple[Scored, ...], msgspec.Meta(max_length=_MOST)]
    microseconds: float
    """How long a call takes."""
    step_microseconds: float
    """How long a step of the environment takes without it."""
    steps: Count
    skipped: Count
    """How many episodes were left out because there was no time for them."""


class Refused(Message, frozen=True, tag="refused"):
    """It can't be done, and there is nothing wrong with who asked; `why` is a whole sentence."""

    why: Text


_Sizes = Annotated[tuple[Count, ...], msgspec.Meta(max_length=16)]


class Examined(Message, frozen=True, tag="examined"):
    """What kind of model a stranger's file holds."""

    algorithm: ShortText
    net_arch: _Sizes | Annotated[dict[ShortText, _Sizes], msgspec.Meta(max_length=4)]
    activation_fn: Literal["tanh", "relu", "elu"]
    more: Annotated[dict[MetricName, Count], msgspec.Meta(max_length=8)]
    """Other sizes of the network."""
    timesteps: Count
    """How long it was trained, as it says."""


FromWorker = (
    Locked
    | Doors
    | Alive
    | Started
    | Paused
    | Changed
    | Noted
    | Evaluated
    | Played
    | Filmed
    | Clipped
    | Progressed
    | Measured
    | Described
    | NotDescribed
    | Inspected
    | Opened
    | Happened
    | PlayedAtRandom
    | RewardChecked
    | Refused
    | Examined
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
    "video.mp4",
    "replay.json",
    "transitions.npz",
    "clips.bin",
    "policy.onnx",
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
    episodes: Count | None = None
    """How many there will be, where that is known."""
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
    purpose: Literal["view", "evaluation", "asked"] = "view"


def encode(message: Message) -> bytes:
    """Return `message` as a frame."""
    return framing.pack(framing.JSON, msgspec.json.encode(message))


def encode_weights(weights: bytes, *, timesteps: int) -> bytes:
    """Return a policy that was stored as a frame for a worker who plays it."""
    header = WeightsHeader(episode=0, timesteps=timesteps, purpose="evaluation")
    return framing.pack_with_header(framing.WEIGHTS, msgspec.json.encode(header), weights)


def encode_header(header: FrameHeader) -> bytes:
    """Return what a picture shows as JSON, to keep it beside the picture."""
    return msgspec.json.encode(header)


def decode_header(content: bytes) -> FrameHeader:
    """Read what `encode_header` returned."""
    return msgspec.json.decode(content, type=FrameHeader)
