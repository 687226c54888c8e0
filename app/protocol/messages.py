"""Messages from a worker to the web process; decoded strictly, never unpickled."""

from typing import Annotated, Any, Literal

import msgspec

from app.protocol import framing
from app.protocol.schedule import Schedule, ScheduleMode

Number = float | Annotated[int, msgspec.Meta(ge=-(2**53), le=2**53)] | None
"""A measured value; None if it isn't finite."""

OwnNumber = Annotated[float, msgspec.Meta(ge=-1e15, le=1e15)]
"""A number that evaluation code returned; bounded, so that sums stay finite."""

Count = Annotated[int, msgspec.Meta(ge=0, le=2**53)]
"""A count; bounded by the integers that every JSON reader can represent."""

MAX_TEXT = 2_000
_MAX_TRACEBACK = 20_000
_MAX_TERMS = 32
_MAX_ITEMS = 512
"""Maximum length of lists in a message: names in a line, notes, episodes of an evaluation."""

Text = Annotated[str, msgspec.Meta(max_length=MAX_TEXT)]
MetricName = Annotated[str, msgspec.Meta(max_length=120)]
Values = Annotated[dict[MetricName, Number], msgspec.Meta(max_length=_MAX_ITEMS)]


AGENT = "agent"
"""The name of a single agent."""


class Message(msgspec.Struct, frozen=True, kw_only=True, tag_field="t", forbid_unknown_fields=True):
    """The base of all messages."""


class Change(Message, frozen=True, tag="change"):
    """Use other values from now on; None leaves one as it is."""

    learning_rate: float | Schedule | None = None
    ent_coef: float | None = None
    clip_range: float | Schedule | None = None
    total_timesteps: Count | None = None
    schedules: ScheduleMode | None = None
    """What another budget does to schedules; None: of an earlier version, which stretched them."""


# From a worker to the web process.


class Locked(Message, frozen=True, tag="locked"):
    """The worker has sandboxed itself, and waits for its job."""

    layers: Annotated[tuple[Text, ...], msgspec.Meta(max_length=_MAX_ITEMS)]


class Escapes(Message, frozen=True, tag="escapes"):
    """The attacks that succeeded in the sandbox check."""

    attacks: tuple[str, ...]


class Alive(Message, frozen=True, tag="alive"):
    """The worker is busy with a long operation."""


class Started(Message, frozen=True, tag="started"):
    """The model is built, and training starts, or resumes from a checkpoint."""

    timesteps: Count = 0
    notes: Annotated[tuple[Text, ...], msgspec.Meta(max_length=_MAX_ITEMS)] = ()
    """What a checkpoint could not restore exactly."""


class Paused(Message, frozen=True, tag="paused"):
    """Training was paused, or resumed."""

    on: bool


class Changed(Message, frozen=True, tag="changed"):
    """Training uses other values from now on."""

    timesteps: Count


class Noted(Message, frozen=True, tag="noted"):
    """Information about the run for its user."""

    event_type: MetricName
    message: Text
    is_warning: bool = False


class Evaluated(Message, frozen=True, tag="evaluated"):
    """A policy was evaluated."""

    timesteps: Count
    """The step of its weights."""
    returns: tuple[float, ...]
    lengths: tuple[Count, ...]
    truncated: Count
    """Number of episodes that were truncated by a time limit."""
    step_limit: Count | None = None
    """The step at which episodes are cut, because the environment itself has no time limit."""
    successes: Count | None = None
    """Number of episodes that reached the goal; None if the environment doesn't report it."""
    custom: tuple[dict[MetricName, OwnNumber], ...] = ()
    """The numbers that evaluation code returned for each episode."""

    @property
    def mean_return(self) -> float:
        """The mean over the episodes."""
        return sum(self.returns) / len(self.returns)

    @property
    def cut(self) -> int:
        """Number of episodes that were cut at `step_limit`."""
        if self.step_limit is None:
            return 0
        return min(self.truncated, sum(length >= self.step_limit for length in self.lengths))

    def is_whole(self, episodes: int, *, by_code: bool = False) -> bool:
        """Whether it has all requested episodes, and the numbers of evaluation code for each."""
        has_custom = len(self.custom) == (episodes if by_code else 0)
        has_names = all(one.keys() == self.custom[0].keys() for one in self.custom)
        has_all = len(self.returns) == len(self.lengths) == episodes
        has_all &= episodes >= max(self.truncated, self.successes or 0)
        return has_all and has_custom and has_names


class Played(Message, frozen=True, tag="played"):
    """One episode of an evaluation has ended."""

    episodes: Count
    """Number of finished episodes."""
    returned: float
    length: Count
    """The return and the number of steps of the last one."""


class VideoRecorded(Message, frozen=True, tag="video_recorded"):
    """The video of some episodes; its file follows unless it has no frames."""

    frames: Count
    fps: float
    width: Count
    height: Count
    is_cut: bool = False
    """Whether the episodes continue after its end: its duration and size are limited."""
    why_not: Text | None = None
    """Why it has no frames, or no more of them."""


class ClipRecorded(Message, frozen=True, tag="clip_recorded"):
    """A clip of a policy was recorded; sent after its video."""

    score: Number
    """The return of the whole first episode, which may outlast the clip; None if it didn't end."""


class ReplayStep(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One step of a policy; `weighed` has the probability or Q-value of each action."""

    episode: Count
    picture: Count
    """The index of the frame of the video that shows it."""
    seen: Annotated[tuple[float, ...], msgspec.Meta(max_length=_MAX_ITEMS)]
    action: Annotated[tuple[float, ...], msgspec.Meta(max_length=_MAX_ITEMS)]
    reward: float
    weighed: Annotated[tuple[float, ...], msgspec.Meta(max_length=_MAX_ITEMS)]
    value: float | None
    terms: Annotated[dict[MetricName, float], msgspec.Meta(max_length=_MAX_TERMS)] = {}
    """The terms of the custom reward, if the run was trained on one."""


class Replay(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The first steps of an evaluation, one by one."""

    weighs: Literal["probability", "q_value"] | None
    moments: Annotated[tuple[ReplayStep, ...], msgspec.Meta(max_length=10_000)]


class Progressed(Message, frozen=True, tag="progressed"):
    """The progress of training; sent about twice a second while it changes."""

    timesteps: Count
    vec_steps: Count
    updates: Count
    episodes: Count
    elapsed_s: float
    fps: float | None


class Line(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One line of metrics: time and measured values."""

    t: Annotated[str, msgspec.Meta(max_length=40)]
    timesteps: Count
    vec_steps: Count
    updates: Count
    episode: Count
    elapsed_s: float
    fps: Number
    progress: float
    values: Values
    agents: Annotated[dict[MetricName, Values], msgspec.Meta(max_length=_MAX_ITEMS)] = {}
    """The values of each agent; a single agent has the name `AGENT`."""
    terms: Annotated[dict[MetricName, Number], msgspec.Meta(max_length=_MAX_TERMS)] = {}
    """The sum of each term of a custom reward over an episode."""

    def flat(self) -> dict[str, Any]:
        """Return it as one object; measured values can't overwrite the fields of its time."""
        groups = {name: getattr(self, name) for name in _GROUPS if getattr(self, name)}
        return {**self.values, **groups, **{name: getattr(self, name) for name in _TIME_FIELDS}}


_GROUPS = ("agents", "terms")
_TIME_FIELDS = tuple(name for name in Line.__struct_fields__ if name not in ("values", *_GROUPS))


class Measured(Message, frozen=True, tag="measured"):
    """New lines of metrics, oldest first."""

    lines: tuple[Line, ...]


EndReason = Literal["budget", "stopped", "solved"]
"""Why a job ended."""


class Finished(Message, frozen=True, tag="finished"):
    """The job is done, and all files were delivered."""

    reason: EndReason


class Failed(Message, frozen=True, tag="failed"):
    """The job ended with an error."""

    reason: Text
    traceback: Annotated[str, msgspec.Meta(max_length=_MAX_TRACEBACK)]
    line: Count | None = None
    """Line in the user's code that caused it, if any."""


class Component(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One number of an observation; a bound of None is infinite."""

    name: Text
    low: Number
    high: Number


ObservationWrapper = Literal[
    "gymnasium.wrappers:FlattenObservation",
    "minigrid.wrappers:FlatObsWrapper",
    "minigrid.wrappers:ImgObsWrapper",
]
"""A wrapper that makes observations usable for SB3, as `module:Class`."""


class Described(Message, frozen=True, tag="described"):
    """The properties of an environment for training."""

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
    action_names: Annotated[tuple[Text, ...], msgspec.Meta(max_length=_MAX_ITEMS)] = ()
    observation_wrappers: Annotated[
        tuple[ObservationWrapper, ...], msgspec.Meta(max_length=_MAX_ITEMS)
    ] = ()
    """The wrappers that flatten its observations, innermost first."""


class NotDescribed(Message, frozen=True, tag="not_described"):
    """There is no such environment, or it can't be trained on."""

    is_known: bool
    why: Text


class Finding(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A finding of a check of a custom environment."""

    check: Literal[
        "loading", "spaces", "gymnasium", "repeats", "rendering", "episodes", "speed", "memory"
    ]
    level: Literal["ok", "warning", "error"]
    message: Text
    line: Count | None = None
    """Line of the file that caused it, if known."""


class Inspected(Message, frozen=True, tag="inspected"):
    """Whether a custom environment can be trained on."""

    findings: Annotated[tuple[Finding, ...], msgspec.Meta(max_length=_MAX_ITEMS)]
    described: Described | None = None
    """None: it can't be trained on."""
    steps_per_second: float | None = None
    has_preview: bool = False
    """Whether an image of it follows."""


Action = int | Annotated[tuple[float, ...], msgspec.Meta(max_length=_MAX_ITEMS)]
"""An action: one of several choices, or a list of numbers."""

Fact = bool | Number | Text
"""A value in the `info` of a step."""


class Opened(Message, frozen=True, tag="opened"):
    """A tryout of an environment is ready."""

    lows: Annotated[tuple[Number, ...], msgspec.Meta(max_length=_MAX_ITEMS)]
    """The lower bound of each number of an action; None: no bound."""
    highs: Annotated[tuple[Number, ...], msgspec.Meta(max_length=_MAX_ITEMS)]
    fps: float
    """Steps per second at its normal speed."""
    draws: bool = True
    """Whether it can be rendered."""


class Happened(Message, frozen=True, tag="happened"):
    """The state of an environment in a tryout."""

    order: Count
    """The newest order that was executed."""
    episode: Count
    step: Count
    seed: Count
    action: Action | None
    """The last action; None at the beginning of an episode."""
    observation: Annotated[tuple[Number, ...], msgspec.Meta(max_length=_MAX_ITEMS)] | None
    """None if it is an image, or too long to read."""
    reward: float
    return_: float = msgspec.field(name="return")
    terminated: bool
    truncated: bool
    info: Annotated[dict[MetricName, Fact], msgspec.Meta(max_length=_MAX_ITEMS)]
    is_exact: bool = True
    """Whether undoing a step restored the exact state."""


class PlayedAtRandom(Message, frozen=True, tag="played_at_random"):
    """The returns of complete episodes of random actions."""

    returns: Annotated[tuple[float, ...], msgspec.Meta(max_length=_MAX_ITEMS)]


class Term(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Statistics of one reward term over many steps."""

    name: MetricName
    mean: float
    std: float
    min: float
    max: float
    share: float
    """Its share of the sum of the absolute values of all terms."""
    outliers: Count
    histogram: Annotated[tuple[Count, ...], msgspec.Meta(max_length=_MAX_ITEMS)]
    """Number of values per bin; the bins have equal width, from `min` to `max`."""


class Scored(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The returns of some episodes under a reward, and under the environment's own."""

    name: Text
    kind: Literal["random", "medium", "good", "probe"]
    origin: Text
    returns: Annotated[tuple[float, ...], msgspec.Meta(max_length=_MAX_ITEMS)]
    discounted: Annotated[tuple[float, ...], msgspec.Meta(max_length=_MAX_ITEMS)]
    """The discounted returns."""
    own_returns: Annotated[tuple[float, ...], msgspec.Meta(max_length=_MAX_ITEMS)]
    lengths: Annotated[tuple[Count, ...], msgspec.Meta(max_length=_MAX_ITEMS)]


class RewardChecked(Message, frozen=True, tag="reward_checked"):
    """The result of a custom reward on recorded episodes."""

    terms: Annotated[tuple[Term, ...], msgspec.Meta(max_length=_MAX_TERMS)]
    groups: Annotated[tuple[Scored, ...], msgspec.Meta(max_length=_MAX_ITEMS)]
    microseconds: float
    """The duration of a call."""
    step_microseconds: float
    """The duration of a step of the environment without it."""
    steps: Count
    skipped: Count
    """Number of episodes that were skipped for lack of time."""


class Refused(Message, frozen=True, tag="refused"):
    """The job can't be done although the request was valid; `why` is a complete sentence."""

    why: Text


_Sizes = Annotated[tuple[Count, ...], msgspec.Meta(max_length=16)]


HubValue = float | int | bool | Schedule | None
"""The value of a hyperparameter in an untrusted file."""


class Examined(Message, frozen=True, tag="examined"):
    """The kind of model in an untrusted file."""

    algorithm: Text
    net_arch: _Sizes | Annotated[dict[Text, _Sizes], msgspec.Meta(max_length=4)]
    activation_fn: Literal["tanh", "relu", "elu"]
    hyperparameters: Annotated[dict[MetricName, HubValue], msgspec.Meta(max_length=64)]
    """The other arguments of the algorithm and of its policy, named as in SB3."""
    unknown: Annotated[tuple[MetricName, ...], msgspec.Meta(max_length=64)]
    """The arguments that the file doesn't tell."""
    n_envs: Count | None
    seed: Count | None
    timesteps: Count
    """The number of steps of its training, according to the file."""


FromWorker = (
    Locked
    | Escapes
    | Alive
    | Started
    | Paused
    | Changed
    | Noted
    | Evaluated
    | Played
    | VideoRecorded
    | ClipRecorded
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
"""The files that are sent in pieces."""


class AgentFrame(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The rewards of one agent in a frame."""

    reward: float
    return_: float = msgspec.field(name="return")


class FrameHeader(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What a rendered frame shows."""

    kind: Literal["training", "evaluation", "preview", "replay"]
    episode: Count
    episodes: Count | None = None
    """The total number of episodes, if known."""
    step: Count
    reward: float
    return_: float = msgspec.field(name="return")
    agents: dict[str, AgentFrame] = {}
    """Rewards per agent; a single agent has the name `AGENT`."""


class BlobHeader(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Which file a piece belongs to."""

    name: FileName
    last: bool
    timesteps: Count = 0
    """The step of a checkpoint or policy."""
    lines: Count = 0
    """Number of lines of metrics sent before the checkpoint."""


class WeightsHeader(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The episode and step of the weights, and why they are sent."""

    episode: Count
    timesteps: Count
    purpose: Literal["view", "evaluation", "asked"] = "view"
    """Stored with pending clips, so the values must not change."""


def encode(message: Message) -> bytes:
    """Encode a message as a frame."""
    return framing.pack(framing.JSON, msgspec.json.encode(message))


def encode_weights(weights: bytes, *, timesteps: int) -> bytes:
    """Encode a stored policy as a frame for a worker that plays it."""
    header = WeightsHeader(episode=0, timesteps=timesteps, purpose="evaluation")
    return framing.pack_with_header(framing.WEIGHTS, msgspec.json.encode(header), weights)


def encode_header(header: FrameHeader) -> bytes:
    """Encode the header of a rendered frame as JSON, to store it with the frame."""
    return msgspec.json.encode(header)


def decode_header(content: bytes) -> FrameHeader:
    """Decode what `encode_header` returned."""
    return msgspec.json.decode(content, type=FrameHeader)
