"""What the lab says to a worker; decoded strictly, never unpickled."""

from typing import Any, ClassVar, Literal

import msgspec

from app.protocol.engine import EngineName
from app.protocol.messages import Action, Change, Count, Message, Text
from app.protocol.schedule import Schedule
from app.protocol.wrappers import Wrappers

Setting = float | int | bool | str | tuple[int, ...] | Schedule | None
"""The value of a hyperparameter."""


class Setup(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """An environment as it is played, and the model that plays it."""

    env_id: str
    algorithm: str
    hyperparameters: dict[str, Setting]
    networks: dict[str, tuple[int, ...]] = {}
    """The layers of each network, where they differ; else `net_arch` has those of all."""
    env_kwargs: dict[str, Any] = msgspec.field(default_factory=dict)
    env_code: str | None = None
    """The file of an environment that a person wrote."""
    wrappers: Wrappers = Wrappers()
    engine: EngineName = "sb3"


class Reward(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A reward that somebody wrote, to learn from instead of the environment's own."""

    code: str
    components: tuple[str, ...] = ()
    """The names that the numbers of an observation have in it."""


class Train(Message, frozen=True, tag="train"):
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


class View(Message, frozen=True, tag="view"):
    """Play the policy whose weights follow, and send pictures of it."""

    setup: Setup
    fps: int


class Evaluate(Message, frozen=True, tag="evaluate"):
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


class Clip(Message, frozen=True, tag="clip"):
    """Film the first seconds of every policy whose weights follow, until told to stop."""

    setup: Setup
    seed: int
    seconds: float


class Evolve(Message, frozen=True, tag="evolve"):
    """String the clips that follow together, each with its words below it."""

    captions: tuple[Text, ...]
    seconds: float
    """How much of each is shown at most."""
    has_file: ClassVar[bool] = True


class Export(Message, frozen=True, tag="export"):
    """Write the policy whose weights follow as ONNX."""

    setup: Setup
    has_file: ClassVar[bool] = True


class Examine(Message, frozen=True, tag="examine"):
    """Say what kind of model the file is that follows, which anybody may have made."""

    has_file: ClassVar[bool] = True


class Adopt(Message, frozen=True, tag="adopt"):
    """Make a policy of the model that follows, and of the scaling that follows it."""

    setup: Setup
    model_size: int
    has_file: ClassVar[bool] = True


class Picture(Message, frozen=True, tag="picture"):
    """Render one picture of each environment, in this order."""

    env_ids: tuple[str, ...]


class Describe(Message, frozen=True, tag="describe"):
    """Say what an environment is like."""

    env_id: str
    env_kwargs: dict[str, Any] = msgspec.field(default_factory=dict)
    env_code: str | None = None


class Inspect(Message, frozen=True, tag="inspect"):
    """Try an environment that a person wrote, and say whether it can be trained on."""

    env_id: str
    env_code: str


class Record(Message, frozen=True, tag="record"):
    """Play an environment at random, well and by cheap tricks, and send what happened."""

    env_id: str
    env_kwargs: dict[str, Any] = msgspec.field(default_factory=dict)
    action_labels: tuple[str, ...] = ()
    env_code: str | None = None


class CheckSandbox(Message, frozen=True, tag="check_sandbox"):
    """Try to get out of the sandbox: to a file, the lab's process, and beyond the memory limit."""

    canary: str
    lab_pid: int
    memory_mb: int


class CheckReward(Message, frozen=True, tag="check_reward"):
    """Ask a reward what it pays for the recorded episodes that follow."""

    code: str
    components: tuple[str, ...] = ()
    has_file: ClassVar[bool] = True


class Shrink(Message, frozen=True, tag="shrink"):
    """Make a small square picture of the one that follows, which anybody may have made."""

    side: int
    has_file: ClassVar[bool] = True


TryoutMode = Literal["random", "step", "play"]
"""Who acts: a random agent at a pace for eyes, whoever gives orders, or whoever holds keys."""


class TryOut(Message, frozen=True, tag="try_out"):
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


class Act(Message, frozen=True, tag="act"):
    """Take a step, with a random action where none is given."""

    order: Count
    action: Action | None = None


class TakeBack(Message, frozen=True, tag="take_back"):
    """Go back to where it was before the last step."""

    order: Count


class StartOver(Message, frozen=True, tag="start_over"):
    """Begin an episode, with the same seed where no other is given."""

    order: Count
    seed: Count | None = None


class Conduct(Message, frozen=True, tag="conduct"):
    """Change who acts, and at which part of its own speed; None leaves it as it is."""

    order: Count
    mode: TryoutMode | None = None
    speed: float | None = None


class Hold(Message, frozen=True, tag="hold"):
    """Do these in turn at every step from now on, as the keys that are held down say."""

    actions: tuple[Action, ...]
    begins: bool
    """Whether it also begins an episode that waits for the first key."""


class Look(Message, frozen=True, tag="look"):
    """Somebody looks, or nobody does any more: draw pictures, or don't."""

    on: bool


Order = Act | TakeBack | StartOver | Conduct | Hold | Look
"""What is asked of an environment that is tried out."""


class Watch(Message, frozen=True, tag="watch"):
    """Somebody looks, or nobody does any more: send weights, or don't."""

    on: bool


class Film(Message, frozen=True, tag="film"):
    """Film the next whole episode of the live view."""


class HandOut(Message, frozen=True, tag="hand_out"):
    """Send the policy's weights once, as they are now."""


class Pause(Message, frozen=True, tag="pause"):
    """Wait until told otherwise, or go on."""

    on: bool


class Judged(Message, frozen=True, tag="judged"):
    """What the policy that was handed out at some step is worth."""

    timesteps: Count
    returns: tuple[float, ...]
    lengths: tuple[Count, ...]


class Stop(Message, frozen=True, tag="stop"):
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
    | CheckSandbox
    | Shrink
    | TryOut
)
Command = Job | Order | Watch | Film | HandOut | Pause | Change | Judged | Stop


def brings_code(job: Command) -> bool:
    """Whether a job runs code that a user wrote."""
    setup = getattr(job, "setup", job)
    wholes = (getattr(job, "reward", None), getattr(setup, "env_code", None))
    return any(whole is not None for whole in (*wholes, getattr(job, "code", None)))


_COMMANDS = msgspec.json.Decoder(Command)


def decode_command(content: bytes) -> Command:
    """Read what the lab sent."""
    command: Command = _COMMANDS.decode(content)
    return command
