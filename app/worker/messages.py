"""What the lab and a worker say to each other; decoded strictly, never unpickled."""

from typing import Annotated, Any, ClassVar, Literal

import msgspec

from app.algorithms.engine import EngineName
from app.algorithms.schedule import Schedule
from app.environments.wrappers import Wrappers
from app.worker import framing

Number = float | Annotated[int, msgspec.Meta(ge=-(2**53), le=2**53)] | None
"""A measured value; None where it isn't finite."""

OwnNumber = Annotated[float, msgspec.Meta(ge=-1e15, le=1e15)]
"""What a person's code says of an episode; so that sums of them stay finite."""

Count = Annotated[int, msgspec.Meta(ge=0, le=2**53)]
"""How many of something; no larger than what every reader of JSON can hold."""

Setting = float | int | bool | str | tuple[int, ...] | Schedule | None
"""The value of a hyperparameter."""

MAX_TEXT = 2_000
_MAX_TRACEBACK = 20_000
_MOST_TERMS = 32
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
    custom: tuple[dict[MetricName, OwnNumber], ...] = ()
    """What a person's code says of each episode."""

    def is_whole(self, episodes: int, *, by_code: bool = False) -> bool:
        """Whether it tells of as many episodes as were asked for, and what code says of each."""
        has_custom = len(self.custom) == (episodes if by_code else 0)
        has_names = all(one.keys() == self.custom[0].keys() for one in self.custom)
        is_all = len(self.returns) == len(self.lengths) == episodes >= self.truncated
        return is_all and has_custom and has_names


class Played(_Message, frozen=True, tag="played"):
    """One episode of an evaluation is over."""

    episodes: Count
    """How many are."""
    returned: float
    length: Count
    """What the last one brought, and how many steps it had."""


class Filmed(_Message, frozen=True, tag="filmed"):
    """The film of some episodes; its file follows unless there are no pictures."""

    pictures: Count
    fps: float
    width: Count
    height: Count
    is_cut: bool = False
    """Whether the episodes go on after its end: a film has a longest time and a largest size."""
    why_not: Text | None = None
    """Why there are no pictures, or no more of them."""


class Clipped(_Message, frozen=True, tag="clipped"):
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
    terms: Annotated[dict[MetricName, Number], msgspec.Meta(max_length=_MOST_TERMS)] = {}
    """What each term of a reward that somebody wrote brought in an episode."""

    def flat(self) -> dict[str, Any]:
        """Return it as one object; what says when it was can't be overwritten."""
        more = {name: getattr(self, name) for name in _GROUPS if getattr(self, name)}
        return {**self.values, **more, **{name: getattr(self, name) for name in _WHEN}}


_GROUPS = ("agents", "terms")
_WHEN = tuple(name for name in Line.__struct_fields__ if name not in ("values", *_GROUPS))


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
    line: Count | None = None
    """Where in the code that a person wrote, if it is the reason."""


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
    action_names: Annotated[tuple[ShortText, ...], msgspec.Meta(max_length=_MOST)] = ()


class NotDescribed(_Message, frozen=True, tag="not_described"):
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


class Inspected(_Message, frozen=True, tag="inspected"):
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


class Opened(_Message, frozen=True, tag="opened"):
    """An environment can be tried out."""

    lows: Annotated[tuple[Number, ...], msgspec.Meta(max_length=_MOST)]
    """The least that each number of an action may be; None: there is no bound."""
    highs: Annotated[tuple[Number, ...], msgspec.Meta(max_length=_MOST)]
    fps: float
    """How many steps a second are its own speed."""
    draws: bool = True
    """Whether there are pictures of it."""


class Happened(_Message, frozen=True, tag="happened"):
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


class PlayedAtRandom(_Message, frozen=True, tag="played_at_random"):
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


class RewardChecked(_Message, frozen=True, tag="reward_checked"):
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


class Refused(_Message, frozen=True, tag="refused"):
    """It can't be done, and there is nothing wrong with who asked; `why` is a whole sentence."""

    why: Text


_Sizes = Annotated[tuple[Count, ...], msgspec.Meta(max_length=16)]


class Examined(_Message, frozen=True, tag="examined"):
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
    | Ready
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


# From the lab to a worker.


class Setup(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """An environment as it is played, and the model that plays it."""

    env_id: str
    algorithm: str
    hyperparameters: dict[str, Setting]
    networks: dict[str, tuple[int, ...]] = {}
    """The layers of each network, where they differ; else `net_arch` has those of all."""
    env_kwargs: dict[str, Any] = {}
    env_code: str | None = None
    """The file of an environment that a person wrote."""
    wrappers: Wrappers = Wrappers()
    engine: EngineName = "sb3"


class Reward(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A reward that somebody wrote, to learn from instead of the environment's own."""

    code: str
    components: tuple[str, ...] = ()
    """The names that the numbers of an observation have in it."""


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
    reward: Reward | None = None

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
    drawn: bool = False
    """Whether it can be watched."""
    films: bool = False
    """Whether a film of it is wanted."""
    reward: Reward | None = None
    """Whose terms the replay shows."""
    code: str | None = None
    """Defines `evaluate(episode)`, which says numbers of each episode."""


class Clip(_Message, frozen=True, tag="clip"):
    """Film the first seconds of every policy whose weights follow, until told to stop."""

    setup: Setup
    seed: int
    seconds: float


class Evolve(_Message, frozen=True, tag="evolve"):
    """String the clips that follow together, each with its words below it."""

    captions: tuple[Text, ...]
    seconds: float
    """How much of each is shown at most."""
    has_file: ClassVar[bool] = True


class Export(_Message, frozen=True, tag="export"):
    """Write the policy whose weights follow as ONNX."""

    setup: Setup
    has_file: ClassVar[bool] = True


class Examine(_Message, frozen=True, tag="examine"):
    """Say what kind of model the file is that follows, which anybody may have made."""

    has_file: ClassVar[bool] = True


class Adopt(_Message, frozen=True, tag="adopt"):
    """Make a policy of the model that follows, and of the scaling that follows it."""

    setup: Setup
    model_size: int
    has_file: ClassVar[bool] = True


class Picture(_Message, frozen=True, tag="picture"):
    """Render one picture of each environment, in this order."""

    env_ids: tuple[str, ...]


class Describe(_Message, frozen=True, tag="describe"):
    """Say what an environment is like."""

    env_id: str
    env_kwargs: dict[str, Any] = {}
    env_code: str | None = None


class Inspect(_Message, frozen=True, tag="inspect"):
    """Try an environment that a person wrote, and say whether it can be trained on."""

    env_id: str
    env_code: str


class Record(_Message, frozen=True, tag="record"):
    """Play an environment at random, well and by cheap tricks, and send what happened."""

    env_id: str
    env_kwargs: dict[str, Any] = {}
    action_labels: tuple[str, ...] = ()
    env_code: str | None = None


class CheckReward(_Message, frozen=True, tag="check_reward"):
    """Ask a reward what it pays for the recorded episodes that follow."""

    code: str
    components: tuple[str, ...] = ()
    has_file: ClassVar[bool] = True


class Shrink(_Message, frozen=True, tag="shrink"):
    """Make a small square picture of the one that follows, which anybody may have made."""

    side: int
    has_file: ClassVar[bool] = True


TryoutMode = Literal["random", "step", "play"]
"""Who acts: a random agent at a pace for eyes, whoever gives orders, or whoever holds keys."""


class TryOut(_Message, frozen=True, tag="try_out"):
    """Let somebody try an environment out, by the orders that follow."""

    env_id: str
    seed: int
    mode: TryoutMode
    draws: bool
    makes_anew: bool
    """Whether an episode only repeats itself in an environment that was just made."""
    measures_random: bool = False
    """Whether to say what random actions bring."""
    env_code: str | None = None


class Act(_Message, frozen=True, tag="act"):
    """Take a step, with a random action where none is given."""

    order: Count
    action: Action | None = None


class TakeBack(_Message, frozen=True, tag="take_back"):
    """Go back to where it was before the last step."""

    order: Count


class StartOver(_Message, frozen=True, tag="start_over"):
    """Begin an episode, with the same seed where no other is given."""

    order: Count
    seed: Count | None = None


class Conduct(_Message, frozen=True, tag="conduct"):
    """Change who acts, and at which part of its own speed; None leaves it as it is."""

    order: Count
    mode: TryoutMode | None = None
    speed: float | None = None


class Hold(_Message, frozen=True, tag="hold"):
    """Do these in turn at every step from now on, as the keys that are held down say."""

    actions: tuple[Action, ...]
    begins: bool
    """Whether it also begins an episode that waits for the first key."""


class Look(_Message, frozen=True, tag="look"):
    """Somebody looks, or nobody does any more: draw pictures, or don't."""

    on: bool


Order = Act | TakeBack | StartOver | Conduct | Hold | Look
"""What is asked of an environment that is tried out."""


class Watch(_Message, frozen=True, tag="watch"):
    """Somebody looks, or nobody does any more: send weights, or don't."""

    on: bool


class Film(_Message, frozen=True, tag="film"):
    """Film the next whole episode of the live view."""


class HandOut(_Message, frozen=True, tag="hand_out"):
    """Send the policy's weights once, as they are now."""


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


Job = (
    Train
    | Export
    | Examine
    | Adopt
    | View
    | Evaluate
    | Clip
    | Evolve
    | Picture
    | Describe
    | Inspect
    | Record
    | CheckReward
    | Shrink
    | TryOut
)
Command = Job | Order | Watch | Film | HandOut | Pause | Change | Judged | Stop

_COMMANDS = msgspec.json.Decoder(Command)


def encode(message: _Message) -> bytes:
    """Return `message` as a frame."""
    return framing.pack(framing.JSON, msgspec.json.encode(message))


def encode_weights(weights: bytes, *, timesteps: int) -> bytes:
    """Return a policy that was stored as a frame for a worker who plays it."""
    header = WeightsHeader(episode=0, timesteps=timesteps, purpose="evaluation")
    return framing.pack_with_header(framing.WEIGHTS, msgspec.json.encode(header), weights)


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
