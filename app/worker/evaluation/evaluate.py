"""Evaluate policies: play whole episodes with each of them, on the same seeds."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Protocol

from stable_baselines3.common.vec_env import VecEnv

from app.protocol import Channel, Control, commands, messages
from app.worker.envs.rendering import KeepsLastFrame
from app.worker.envs.vectorized.pipeline import make_evaluation_envs, rendered_environment
from app.worker.evaluation.episode_recorder import EpisodeRecorder
from app.worker.evaluation.evaluation_code import EvaluationFunction
from app.worker.evaluation.frames import MAX_FPS, FrameSender, FrameSink, Renderer, pace
from app.worker.evaluation.player import Player, Policy, TimeStep, received_policies
from app.worker.evaluation.reward_terms import RewardTerms
from app.worker.evaluation.step_log import StepLog
from app.worker.evaluation.video_recorder import VideoRecorder, new_video, send_video
from app.worker.models.models import build_for_playing


class Sink(Protocol):
    """Receives every time step of the played episodes."""

    def add(self, step: TimeStep) -> None:
        """Receive the next time step."""


@dataclass(slots=True)
class EpisodeResults:
    """The returns and lengths of episodes."""

    returns: list[float] = field(default_factory=list)
    lengths: list[int] = field(default_factory=list)
    truncated: int = 0
    custom: list[dict[str, float]] = field(default_factory=list)

    def add(self, last: TimeStep) -> None:
        """Add an episode, given its last step."""
        self.returns.append(last.return_)
        self.lengths.append(last.number)
        self.truncated += last.truncated

    def last_message(self) -> messages.Played:
        """Return the message about the last episode."""
        return messages.Played(
            episodes=len(self.returns), returned=self.returns[-1], length=self.lengths[-1]
        )

    def message(self, timesteps: int) -> messages.Evaluated:
        """Return the message about all episodes of a policy with this many training steps."""
        return messages.Evaluated(
            timesteps=timesteps,
            returns=tuple(self.returns),
            lengths=tuple(self.lengths),
            truncated=self.truncated,
            custom=tuple(self.custom),
        )


class Recording:
    """Shows the episodes of one policy to viewers; records and logs them if requested."""

    def __init__(
        self,
        job: commands.Evaluate,
        env: KeepsLastFrame,
        channel: Channel,
        control: Control,
        log: StepLog | None = None,
    ) -> None:
        steps_per_frame, fps = pace(env, MAX_FPS)
        self._channel = channel
        self._log = log
        self._video = VideoRecorder(new_video(fps)) if job.records_video else None
        shown = FrameSender(channel, control, fps=fps, episodes=job.episodes)
        sinks: list[FrameSink] = [shown] if self._video is None else [self._video, shown]
        self._renderer = Renderer(env, sinks, steps_per_frame=steps_per_frame, is_optional=True)

    def add(self, step: TimeStep) -> None:
        """Receive the next time step."""
        # The log first: the policy acted on what the newest frame so far shows.
        if self._log is not None and self._video is not None and self._renderer.error is None:
            self._log.add(step, frame_index=self._video.frame_index)
        self._renderer.add(step)

    def send(self) -> None:
        """Send the video and the step log, if there are any."""
        if self._video is not None:
            send_video(self._video.writer, self._channel, why_not=self._renderer.error)
        if self._log is not None:
            self._channel.send_file("replay.json", self._log.content())


def evaluate(job: commands.Evaluate, channel: Channel, control: Control) -> None:
    """Evaluate every policy that the web process sends, until it requests the stop."""
    envs = make_evaluation_envs(job.setup, rendered=job.renders)
    env = rendered_environment(envs) if job.renders else None
    terms = _reward_terms(job, envs)
    custom = _custom_evaluation(job, envs)
    model = build_for_playing(job.setup, envs)
    player = Player(envs, {messages.AGENT: Policy(model, deterministic=job.deterministic)})

    def on_episode(results: EpisodeResults) -> None:
        if custom is not None:
            results.custom.append(custom(job.seed + len(results.custom)))
        if job.reports_each:
            channel.send(results.last_message())

    for header in received_policies(model, envs, control):
        log = StepLog(envs, model, terms) if job.records_video else None
        recordings = [] if env is None else [Recording(job, env, channel, control, log)]
        results = play_episodes(
            player, job.episodes, seed=job.seed, sinks=recordings, on_episode=on_episode
        )
        for recording in recordings:
            recording.send()
        channel.send(results.message(header.timesteps))
    channel.send(messages.Finished(reason="stopped"))
    envs.close()


def _reward_terms(job: commands.Evaluate, envs: VecEnv) -> RewardTerms | None:
    """Return the wrapper that computes the terms of a custom reward for the step log."""
    if job.reward is None or not job.records_video:
        return None
    return RewardTerms.insert_into(envs, job.reward)


def _custom_evaluation(
    job: commands.Evaluate, envs: VecEnv
) -> Callable[[int], dict[str, float]] | None:
    """Return a function that takes the seed of the last episode and runs the user's code on it."""
    if job.code is None:
        return None
    function, recorder = EvaluationFunction(job.code), EpisodeRecorder.insert_into(envs)
    return lambda seed: function.evaluate(recorder.last_episode(seed))


def play_episodes(
    player: Player,
    count: int,
    *,
    seed: int,
    sinks: Sequence[Sink] = (),
    on_episode: Callable[[EpisodeResults], None] = lambda _: None,
) -> EpisodeResults:
    """Play whole episodes, each with its own seed, so that results are reproducible."""
    player.seed(seed)
    results = EpisodeResults()
    for episode in range(count):
        for step in player.play_episode(episode + 1, seed=seed + episode):
            for sink in sinks:
                sink.add(step)
            if step.is_over:
                results.add(step)
        on_episode(results)
    return results
