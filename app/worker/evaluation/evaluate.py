"""Judge policies: play whole episodes with each, on the same seeds."""

from collections.abc import Callable
from dataclasses import dataclass, field

from stable_baselines3.common.vec_env import VecEnv

from app.protocol import commands, messages
from app.protocol.pipe import Channel, Control
from app.worker.envs.vectorized.pipeline import drawn_environment, make_evaluation_envs
from app.worker.evaluation.episode_recorder import EpisodeRecorder
from app.worker.evaluation.evaluation_code import EvaluationFunction
from app.worker.evaluation.player import Player, Step
from app.worker.evaluation.reward_terms import RewardTerms
from app.worker.evaluation.step_log import StepLog
from app.worker.evaluation.video_recorder import VideoRecorder
from app.worker.models.models import build_for_playing, load_weights


@dataclass(slots=True)
class Episodes:
    """What some episodes brought."""

    returns: list[float] = field(default_factory=list)
    lengths: list[int] = field(default_factory=list)
    truncated: int = 0
    custom: list[dict[str, float]] = field(default_factory=list)

    def last_message(self) -> messages.Played:
        """Say what the last one brought."""
        return messages.Played(
            episodes=len(self.returns), returned=self.returns[-1], length=self.lengths[-1]
        )

    def message(self, timesteps: int) -> messages.Evaluated:
        """Say it of a policy that was trained so long."""
        return messages.Evaluated(
            timesteps=timesteps,
            returns=tuple(self.returns),
            lengths=tuple(self.lengths),
            truncated=self.truncated,
            custom=tuple(self.custom),
        )


class Scene:
    """What happens around an episode: it is shown, filmed and written down, as far as wanted."""

    def __init__(self, stage: VideoRecorder | None = None, notebook: StepLog | None = None) -> None:
        self._stage = stage
        self._notebook = notebook
        self._episode = 0
        self._picture: int | None = None

    def deliver(self, channel: Channel) -> None:
        """Send what was filmed and written down."""
        if self._stage is not None:
            self._stage.deliver()
        if self._notebook is not None:
            channel.send_file("replay.json", self._notebook.content())

    def begin(self, episode: int) -> None:
        """An episode begins."""
        self._episode = episode
        if self._stage is not None:
            self._stage.begin(episode)

    def look(self) -> None:
        """The policy is about to act."""
        if self._notebook is not None and self._stage is not None:
            self._picture = self._stage.picture
            self._notebook.look()

    def advance(self, step: Step) -> None:
        """It acted."""
        if self._stage is None:
            return
        self._stage.advance(step)
        if self._notebook is not None and self._picture is not None:
            self._notebook.note(step, episode=self._episode, picture=self._picture)


def evaluate(job: commands.Evaluate, channel: Channel, control: Control) -> None:
    """Judge every policy that the lab sends, until it says stop."""
    envs = make_evaluation_envs(job.setup, drawn=job.drawn)
    shown = drawn_environment(envs) if job.drawn else None
    terms = _terms(job, envs)
    judge = _judge(job, envs)
    model = build_for_playing(job.setup, envs)

    def tell(played: Episodes) -> None:
        if judge is not None:
            played.custom.append(judge(job.seed + len(played.custom)))
        if job.tells_each:
            channel.send(played.last_message())

    while not control.stop_requested:
        control.weights_arrived.wait()
        if (taken := control.take_weights()) is None:
            continue
        load_weights(model, envs, taken[1])
        stage = VideoRecorder(shown, channel, control, job) if shown is not None else None
        player = Player(model, envs, deterministic=job.deterministic)
        notebook = StepLog(player, terms) if job.films else None
        scene = Scene(stage, notebook)
        found = play_episodes(player, job.episodes, seed=job.seed, told=tell, scene=scene)
        scene.deliver(channel)
        channel.send(found.message(taken[0].timesteps))
    channel.send(messages.Finished(reason="stopped"))
    envs.close()


def _terms(job: commands.Evaluate, envs: VecEnv) -> RewardTerms | None:
    """Return who knows the terms of a written reward at each step, for the replay."""
    if job.reward is None or not job.films:
        return None
    return RewardTerms.at(envs, job.reward)


def _judge(job: commands.Evaluate, envs: VecEnv) -> Callable[[int], dict[str, float]] | None:
    """Return who asks a person's code about the episode that was played last, on some seed."""
    if job.code is None:
        return None
    verdict, witness = EvaluationFunction(job.code), EpisodeRecorder.at(envs)
    return lambda seed: verdict.of(witness.episode(seed))


def play_episodes(
    player: Player,
    count: int,
    *,
    seed: int,
    told: Callable[[Episodes], None] = lambda _: None,
    scene: Scene | None = None,
) -> Episodes:
    """Play whole episodes, each on a seed of its own, so that the same policy scores the same."""
    # A policy that draws its actions draws the same ones again.
    player.model.set_random_seed(seed)
    scene = scene or Scene()
    found = Episodes()
    for episode in range(count):
        player.begin(seed=seed + episode)
        scene.begin(episode + 1)
        total, length, is_over = 0.0, 0, False
        while not is_over:
            scene.look()
            step = player.step()
            total, length, is_over = total + step.reward, length + 1, step.is_over
            scene.advance(step)
        found.returns.append(total)
        found.lengths.append(length)
        found.truncated += step.was_cut
        told(found)
    return found
