"""Evaluate policies: play whole episodes with each of them, on given seeds."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Protocol

from sb3_contrib import QRDQN
from stable_baselines3 import DQN
from stable_baselines3.common.base_class import BaseAlgorithm
from stable_baselines3.common.vec_env import VecEnv

from app.protocol import Channel, Control, commands, messages
from app.worker.envs.rendering import KeepsLastFrame
from app.worker.envs.vectorized.pipeline import (
    evaluation_limit,
    make_evaluation_envs,
    rendered_environment,
)
from app.worker.evaluation.double_precision import can_compute_in_double, compute_in_double
from app.worker.evaluation.episode_recorder import EpisodeRecorder
from app.worker.evaluation.evaluation_code import EvaluationFunction
from app.worker.evaluation.frames import MAX_FPS, FrameSender, FrameSink, Renderer, pace
from app.worker.evaluation.parallel_episodes import ParallelEpisodes
from app.worker.evaluation.player import (
    FinishedEpisode,
    Player,
    Policy,
    TimeStep,
    received_policies,
)
from app.worker.evaluation.reward_terms import RewardTerms
from app.worker.evaluation.step_log import StepLog
from app.worker.evaluation.video_recorder import VideoRecorder, new_video, send_video
from app.worker.models.models import build_for_playing

MAX_RECORDED = 5
"""Number of episodes that a video shows at most, if the others can be played all at once."""


class Sink(Protocol):
    """Receives every time step of the played episodes."""

    def add(self, step: TimeStep) -> None:
        """Receive the next time step."""


@dataclass(slots=True)
class EpisodeResults:
    """The results of the episodes of one policy."""

    episodes: list[FinishedEpisode] = field(default_factory=list)
    custom: list[dict[str, float]] = field(default_factory=list)

    @property
    def returns(self) -> list[float]:
        """The return of each episode."""
        return [one.return_ for one in self.episodes]

    def last_message(self) -> messages.Played:
        """Return the message about the last episode."""
        last = self.episodes[-1]
        return messages.Played(
            episodes=len(self.episodes), returned=last.return_, length=last.length
        )

    def message(self, timesteps: int, *, step_limit: int | None) -> messages.Evaluated:
        """Return the message about all episodes of a policy with this many training steps."""
        outcomes = [one.is_success for one in self.episodes if one.is_success is not None]
        return messages.Evaluated(
            timesteps=timesteps,
            returns=tuple(self.returns),
            lengths=tuple(one.length for one in self.episodes),
            truncated=sum(one.truncated for one in self.episodes),
            step_limit=step_limit,
            successes=sum(outcomes) if outcomes else None,
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
        *,
        episodes: int,
        log: StepLog | None = None,
    ) -> None:
        steps_per_frame, fps = pace(env, MAX_FPS)
        self._channel = channel
        self._log = log
        self._video = VideoRecorder(new_video(fps)) if job.records_video else None
        shown = FrameSender(channel, control, fps=fps, episodes=episodes)
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
    evaluator = Evaluator(job, channel, control)
    for header in received_policies(evaluator.model, evaluator.envs, control):
        assert control.episodes is not None
        results = evaluator.play(control.episodes)
        step_limit = evaluation_limit(evaluator.envs)
        channel.send(results.message(header.timesteps, step_limit=step_limit))
    channel.send(messages.Finished(reason="stopped"))
    evaluator.close()


class Evaluator:
    """Plays the episodes of one policy after the other.

    Those that are recorded, watched or judged by code are played one by one, the others all at
    once where that gives the same returns.
    """

    def __init__(self, job: commands.Evaluate, channel: Channel, control: Control) -> None:
        self._job = job
        self._channel = channel
        self._control = control
        self.envs = make_evaluation_envs(job.setup, rendered=job.renders, disturbed=job.disturbed)
        self._env = rendered_environment(self.envs) if job.renders else None
        self._terms = _reward_terms(job, self.envs)
        self._custom = _custom_evaluation(job, self.envs)
        self.model = build_to_evaluate(job.setup, self.envs, deterministic=job.deterministic)
        self._player = Player(
            self.envs, {messages.AGENT: Policy(self.model, deterministic=job.deterministic)}
        )
        self._parallel = ParallelEpisodes(job.setup, self.model, disturbed=job.disturbed)

    def play(self, wanted: commands.Episodes) -> EpisodeResults:
        """Play the episodes of the policy that was loaded last."""
        results = EpisodeResults()
        one_by_one = wanted.count
        if self._can_play_at_once:
            one_by_one = min(wanted.count, MAX_RECORDED) if self._job.renders else 0
        recordings = self._recordings(wanted.count) if one_by_one else []
        for finished in play_episodes(self._player, one_by_one, wanted.seed, sinks=recordings):
            self._add(finished, results, wanted)
        for recording in recordings:
            recording.send()
        if rest := wanted.count - one_by_one:
            seed = wanted.seed + one_by_one
            for finished in self._parallel.play(rest, seed=seed, observed_by=self.envs):
                self._add(finished, results, wanted)
        return results

    def close(self) -> None:
        """Close the environments."""
        self._parallel.close()
        self.envs.close()

    @property
    def _can_play_at_once(self) -> bool:
        is_same = self._job.deterministic and can_compute_in_double(self.model)
        return is_same and self._custom is None

    def _recordings(self, episodes: int) -> list[Recording]:
        if self._env is None:
            return []
        log = StepLog(self.envs, self.model, self._terms) if self._job.records_video else None
        channel, control = self._channel, self._control
        return [Recording(self._job, self._env, channel, control, episodes=episodes, log=log)]

    def _add(
        self, finished: FinishedEpisode, results: EpisodeResults, wanted: commands.Episodes
    ) -> None:
        results.episodes.append(finished)
        if self._custom is not None:
            results.custom.append(self._custom(wanted.seed + len(results.custom)))
        if self._job.reports_each:
            self._channel.send(results.last_message())


def build_to_evaluate(setup: commands.Setup, envs: VecEnv, *, deterministic: bool) -> BaseAlgorithm:
    """Build a model to evaluate policies with."""
    model = build_for_playing(setup, envs)
    if deterministic and can_compute_in_double(model):
        compute_in_double(model)
    if isinstance(model, DQN | QRDQN):
        # A new model has epsilon 0, so that "sampled" actions would be greedy.
        model.exploration_rate = model.exploration_final_eps
    return model


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
    player: Player, count: int, seed: int, *, sinks: Sequence[Sink] = ()
) -> Iterator[FinishedEpisode]:
    """Play whole episodes one by one, each with its own seed, so that results are reproducible."""
    for episode in range(count):
        for step in player.play_episode(episode + 1, seed=seed + episode):
            for sink in sinks:
                sink.add(step)
            if step.is_over:
                last = step
        yield FinishedEpisode.at(last)
