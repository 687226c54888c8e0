"""Record a short clip of each policy of a run, all on the same seed, for comparison."""

from itertools import count, islice

from app.protocol import Channel, Control, commands, messages
from app.worker.envs.rendering import KeepsLastFrame
from app.worker.envs.vectorized.pipeline import make_evaluation_envs, rendered_environment
from app.worker.evaluation.frames import MAX_FPS, Renderer, pace
from app.worker.evaluation.mp4_writer import Mp4Writer
from app.worker.evaluation.player import Player, Policy, received_policies
from app.worker.evaluation.video_recorder import VideoRecorder, send_video
from app.worker.models.models import build_for_playing

_SIZE = (480, 360)
"""Small, because clips are shown next to a chart."""
_MAX_STEPS = 10_000
"""How long to wait for an episode's end to get its score; some episodes never end."""


class _ClipRecorder(VideoRecorder):
    @property
    def wants_frames(self) -> bool:
        """Stop when the clip is full: ending within an episode is normal, so it isn't cut."""
        return not self.writer.is_full


def clip(job: commands.Clip, channel: Channel, control: Control) -> None:
    """Record a clip of every policy that the web process sends, until it requests the stop."""
    envs = make_evaluation_envs(job.setup, rendered=True)
    model = build_for_playing(job.setup, envs)
    player = Player(envs, {messages.AGENT: Policy(model, deterministic=True)})
    for _ in received_policies(model, envs, control):
        _record(player, rendered_environment(envs), job, channel)
    channel.send(messages.Finished(reason="stopped"))
    envs.close()


def _record(player: Player, env: KeepsLastFrame, job: commands.Clip, channel: Channel) -> None:
    """Send a clip of episodes, seeded from the job's seed upwards, and the first one's score."""
    steps_per_frame, fps = pace(env, MAX_FPS)
    writer = Mp4Writer(fps, max_seconds=job.seconds, max_size=_SIZE)
    renderer = Renderer(env, [_ClipRecorder(writer)], steps_per_frame=steps_per_frame)
    score = None
    player.seed(job.seed)
    for seed in count(job.seed):
        is_first = seed == job.seed
        for step in islice(player.play_episode(seed=seed), 1 + _MAX_STEPS):
            renderer.add(step)
            if is_first and step.is_over:
                score = step.return_
            elif writer.is_full and not is_first:
                break
        if writer.is_full:
            break
    send_video(writer, channel)
    channel.send(messages.ClipRecorded(score=score))
