"""Film the first seconds of policies, all on the same seed: what a run could do at some moment."""

from app.protocol import commands, messages
from app.protocol.pipe import Channel, Control
from app.worker.envs.rendering import KeepsLastPicture, draw
from app.worker.envs.vectorized.pipeline import drawn_environment, make_evaluation_envs
from app.worker.evaluation.mp4_writer import Mp4Writer
from app.worker.evaluation.player import Player
from app.worker.evaluation.video_recorder import deliver_film, pace
from app.worker.models.models import build_for_playing, load_weights

_FPS = 30
_SIZE = (480, 360)
"""They are shown beside a chart, not on the stage."""
_HOLD_S = 0.4
_MOST_STEPS = 10_000
"""So long an episode is followed for its score; some never end."""


def clip(job: commands.Clip, channel: Channel, control: Control) -> None:
    """Film every policy that the lab sends, until it says stop."""
    envs = make_evaluation_envs(job.setup, drawn=True)
    model = build_for_playing(job.setup, envs)
    player = Player(model, envs, deterministic=True)
    while not control.stop_requested:
        control.weights_arrived.wait()
        if (taken := control.take_weights()) is None:
            continue
        load_weights(model, envs, taken[1])
        _Clip(player, drawn_environment(envs), job).deliver(channel)
    channel.send(messages.Finished(reason="stopped"))
    envs.close()


class _Clip:
    """One film: episodes on seeds that count up from the job's, until it is full."""

    def __init__(self, player: Player, env: KeepsLastPicture, job: commands.Clip) -> None:
        self._player = player
        self._env = env
        self._job = job
        self._steps_per_frame, fps = pace(env, _FPS)
        self._film = Mp4Writer(fps, most_seconds=job.seconds, most_size=_SIZE)

    def deliver(self, channel: Channel) -> None:
        """Play, and send the film and the score of the first episode."""
        # A policy that draws its actions draws the same ones again.
        self._player.model.set_random_seed(self._job.seed)
        score = self._play(self._job.seed, is_first=True)
        seed = self._job.seed
        while not self._film.is_full:
            seed += 1
            self._play(seed)
        deliver_film(self._film, channel)
        channel.send(messages.Clipped(score=score))

    def _play(self, seed: int, *, is_first: bool = False) -> float | None:
        """Return what a whole episode brought; all but the first end with the film."""
        self._env.is_drawn = True
        self._player.begin(seed=seed)
        self._look()
        total = 0.0
        for count in range(1, _MOST_STEPS + 1):
            step = self._player.step()
            total += step.reward
            if step.is_over or count % self._steps_per_frame == 0:
                self._look(is_last=step.is_over)
            if step.is_over:
                return total
            if self._film.is_full:
                if not is_first:
                    break
                self._env.is_drawn = False
        return None

    def _look(self, *, is_last: bool = False) -> None:
        if self._film.is_full:
            return
        picture = draw(self._env)
        for _ in range(1 + round(_HOLD_S * self._film.fps) if is_last else 1):
            self._film.add(picture)
