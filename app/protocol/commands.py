"""Commands from the web process to a worker; decoded strictly, never unpickled."""

from typing import Any, ClassVar, Literal

import msgspec

from app.protocol.messages import Action, Change, Count, Message, Text
from app.protocol.schedule import Schedule
from app.protocol.wrappers import Wrappers

EngineName = Literal["fast", "sb3"]
"""The fast engine, or Stable-Baselines3."""

Setting = float | int | bool | str | tuple[int, ...] | Schedule | None
"""The value of a hyperparameter."""


class Setup(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """An environment with its wrappers, and the model that plays it."""

    env_id: str
    algorithm: str
    masks_actions: bool = False
    """Whether the algorithm masks invalid actions of the environment."""
    hyperparameters: dict[str, Setting]
    policy: dict[str, Setting] = {}
    """The arguments of the policy."""
    networks: dict[str, tuple[int, ...]] = {}
    """The layers of each network, if they differ; otherwise `net_arch` applies to all."""
    env_kwargs: dict[str, Any] = msgspec.field(default_factory=dict)
    env_code: str | None = None
    """The code of a custom environment."""
    wrappers: Wrappers = Wrappers()
    engine: EngineName = "sb3"
    repeats_itself: bool = True
    """Whether an episode depends on its seed only, not on those before it in the environment."""


class Reward(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A custom reward, used for training instead of the environment's own."""

    code: str
    components: tuple[str, ...] = ()
    """The names by which it accesses the numbers of an observation."""


class Train(Message, frozen=True, tag="train"):
    """Train a model."""

    setup: Setup
    total_timesteps: int
    seed: int
    n_envs: int
    schedule_timesteps: int | None = None
    """The step at which schedules and exploration end; None: at the end of the budget."""
    evaluate_every: int | None = None
    """Number of training steps between evaluations of the policy; None: no evaluations."""
    evaluate_above: float | None = None
    """Begin with them once the mean reward of training is above this."""
    resume: bool = False
    """Whether a checkpoint to resume from follows."""
    transfer: bool = False
    """Whether the policy of another run to start from follows."""
    changes: tuple[Change, ...] = ()
    """Earlier live changes; a checkpoint may be older than these."""
    reward: Reward | None = None

    @property
    def has_file(self) -> bool:
        """Whether a file follows that training needs to start."""
        return self.resume or self.transfer


class View(Message, frozen=True, tag="view"):
    """Play the policy whose weights follow, and send frames of it."""

    setup: Setup
    fps: int


class Evaluate(Message, frozen=True, tag="evaluate"):
    """Evaluate every policy whose weights follow, until the stop; `Episodes` precede each."""

    setup: Setup
    deterministic: bool = True
    disturbed: bool = False
    """Whether the noise and the randomization of training apply."""
    reports_each: bool = False
    """Whether to report the end of each episode."""
    renders: bool = False
    """Whether the worker can render it for viewers."""
    records_video: bool = False
    """Whether a video of it is recorded."""
    reward: Reward | None = None
    """The custom reward whose terms the replay shows."""
    code: str | None = None
    """Code that defines `evaluate(episode)`, which returns named numbers for each episode."""


class Episodes(Message, frozen=True, tag="episodes"):
    """The episodes that the policy whose weights follow is to play."""

    count: int
    seed: int
    """Seed of the first one; each further episode adds 1."""


class Clip(Message, frozen=True, tag="clip"):
    """Record the first seconds of every policy whose weights follow, until the stop."""

    setup: Setup
    seed: int
    seconds: float


class JoinClips(Message, frozen=True, tag="join_clips"):
    """Join the clips that follow into one video, each with its caption below it."""

    captions: tuple[Text, ...]
    seconds: float
    """The maximum duration of each clip."""
    has_file: ClassVar[bool] = True


class Export(Message, frozen=True, tag="export"):
    """Write the policy whose weights follow as ONNX."""

    setup: Setup
    has_file: ClassVar[bool] = True


class SaveNormalization(Message, frozen=True, tag="save_normalization"):
    """Write the normalization of the policy that follows in SB3's format."""

    setup: Setup
    has_file: ClassVar[bool] = True


class Examine(Message, frozen=True, tag="examine"):
    """Report what kind of model the untrusted file that follows contains."""

    has_file: ClassVar[bool] = True


class ConvertModel(Message, frozen=True, tag="convert_model"):
    """Convert the model that follows, and the normalization after it, to a policy."""

    setup: Setup
    model_size: int
    has_file: ClassVar[bool] = True


class RenderPreviews(Message, frozen=True, tag="render_previews"):
    """Render one frame of each environment, in this order."""

    env_ids: tuple[str, ...]


class Describe(Message, frozen=True, tag="describe"):
    """Describe an environment."""

    env_id: str
    env_kwargs: dict[str, Any] = msgspec.field(default_factory=dict)
    env_code: str | None = None


class Inspect(Message, frozen=True, tag="inspect"):
    """Test a custom environment, and report whether it can be trained on."""

    env_id: str
    env_code: str


class Record(Message, frozen=True, tag="record"):
    """Play an environment with random, good and degenerate policies, and send the transitions."""

    env_id: str
    env_kwargs: dict[str, Any] = msgspec.field(default_factory=dict)
    action_labels: tuple[str, ...] = ()
    env_code: str | None = None


class CheckSandbox(Message, frozen=True, tag="check_sandbox"):
    """Try to escape from the sandbox: to a file, the lab's process, beyond the memory limit."""

    canary: str
    lab_pid: int
    memory_mb: int


class CheckReward(Message, frozen=True, tag="check_reward"):
    """Compute a custom reward for the recorded episodes that follow."""

    code: str
    components: tuple[str, ...] = ()
    has_file: ClassVar[bool] = True


class Shrink(Message, frozen=True, tag="shrink"):
    """Make a small square image from the untrusted one that follows."""

    side: int
    has_file: ClassVar[bool] = True


TryoutMode = Literal["random", "step", "play"]
"""Who acts: a random agent in real time, or a user, step by step or by holding keys."""


class TryOut(Message, frozen=True, tag="try_out"):
    """Let a user try out an environment with the orders that follow."""

    env_id: str
    seed: int
    mode: TryoutMode
    draws: bool
    new_env_each: bool
    """Whether each episode needs a new environment to be reproducible from its seed."""
    measures_random: bool = False
    """Whether to report the returns of random actions."""
    env_code: str | None = None


class Act(Message, frozen=True, tag="act"):
    """Take a step, with a random action if none is given."""

    order: Count
    action: Action | None = None


class TakeBack(Message, frozen=True, tag="take_back"):
    """Undo the last step."""

    order: Count


class StartOver(Message, frozen=True, tag="start_over"):
    """Start an episode, with the same seed unless another is given."""

    order: Count
    seed: Count | None = None


class SetMode(Message, frozen=True, tag="set_mode"):
    """Change who acts and the relative speed; None leaves either as it is."""

    order: Count
    mode: TryoutMode | None = None
    speed: float | None = None


class Hold(Message, frozen=True, tag="hold"):
    """Cycle through these actions at every step while keys are held down."""

    actions: tuple[Action, ...]
    begins: bool
    """Whether this also starts an episode that waits for the first key."""


class SetRendering(Message, frozen=True, tag="set_rendering"):
    """Start or stop rendering, depending on whether there are viewers."""

    on: bool


Order = Act | TakeBack | StartOver | SetMode | Hold | SetRendering
"""A command to an environment in a tryout."""


class Watch(Message, frozen=True, tag="watch"):
    """Start or stop sending weights or frames, depending on whether there are viewers."""

    on: bool


class RecordVideo(Message, frozen=True, tag="record_video"):
    """Record the next complete episode of the live view."""


class SendPolicy(Message, frozen=True, tag="send_policy"):
    """Send the current weights of the policy once."""


class Pause(Message, frozen=True, tag="pause"):
    """Pause, or resume."""

    on: bool


class EvaluationResult(Message, frozen=True, tag="evaluation_result"):
    """The result of evaluating the policy of some step.

    Training ranks policies by it and marks the evaluation in its metrics; the web process keeps
    the numbers themselves, because code of a user runs where training does.
    """

    timesteps: Count
    mean_return: float


class Solved(Message, frozen=True, tag="solved"):
    """The task is solved, and the run is to end."""


class Stop(Message, frozen=True, tag="stop"):
    """End the job as soon as possible and deliver its results."""


Job = (
    Train
    | Export
    | Examine
    | ConvertModel
    | SaveNormalization
    | View
    | Evaluate
    | Clip
    | JoinClips
    | RenderPreviews
    | Describe
    | Inspect
    | Record
    | CheckReward
    | CheckSandbox
    | Shrink
    | TryOut
)
Command = (
    Job
    | Order
    | Watch
    | RecordVideo
    | SendPolicy
    | Pause
    | Change
    | Episodes
    | EvaluationResult
    | Solved
    | Stop
)


def runs_user_code(job: Command) -> bool:
    """Whether a job runs code that a user wrote."""
    setup = getattr(job, "setup", job)
    sources = (getattr(job, "reward", None), getattr(setup, "env_code", None))
    return any(source is not None for source in (*sources, getattr(job, "code", None)))


_COMMANDS = msgspec.json.Decoder(Command)


def decode_command(content: bytes) -> Command:
    """Decode a command from the web process."""
    command: Command = _COMMANDS.decode(content)
    return command
