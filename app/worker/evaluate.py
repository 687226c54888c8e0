"""Judge policies: play whole episodes with each, on the same seeds."""

from collections.abc import Callable
from dataclasses import dataclass, field

from stable_baselines3.common.base_class import BaseAlgorithm
from stable_baselines3.common.vec_env import VecEnv

from app.worker import messages
from app.worker.channel import Channel, Control
from app.worker.models import build_for_playing, load_weights
from app.worker.pipeline import make_evaluation_envs
from app.worker.playing import Player


@dataclass(slots=True)
class Episodes:
    """What some episodes brought."""

    returns: list[float] = field(default_factory=list)
    lengths: list[int] = field(default_factory=list)
    truncated: int = 0

    def message(self, timesteps: int) -> messages.Evaluated:
        """Say it of a policy that was trained so long."""
        return messages.Evaluated(
            timesteps=timesteps,
            returns=tuple(self.returns),
            lengths=tuple(self.lengths),
            truncated=self.truncated,
        )


def evaluate(job: messages.Evaluate, channel: Channel, control: Control) -> None:
    """Judge every policy that the lab sends, until it says stop."""
    envs = make_evaluation_envs(job.setup)
    model = build_for_playing(job.setup, envs)

    def tell(episodes: int) -> None:
        if job.tells_each:
            channel.send(messages.Played(episodes=episodes))

    while not control.stop_requested:
        control.weights_arrived.wait()
        if (taken := control.take_weights()) is None:
            continue
        header, weights = taken
        load_weights(model, envs, weights)
        found = play_episodes(
            model, envs, job.episodes, seed=job.seed, deterministic=job.deterministic, told=tell
        )
        channel.send(found.message(header.timesteps))
    channel.send(messages.Finished(reason="stopped"))
    envs.close()


def play_episodes(
    model: BaseAlgorithm,
    envs: VecEnv,
    count: int,
    *,
    seed: int,
    deterministic: bool,
    told: Callable[[int], None] = lambda _: None,
) -> Episodes:
    """Play whole episodes, each on a seed of its own, so that the same policy scores the same."""
    # A policy that draws its actions draws the same ones again.
    model.set_random_seed(seed)
    player = Player(model, envs, deterministic=deterministic)
    found = Episodes()
    for episode in range(count):
        player.begin(seed=seed + episode)
        total, length, is_over = 0.0, 0, False
        while not is_over:
            step = player.step()
            total, length, is_over = total + step.reward, length + 1, step.is_over
        found.returns.append(total)
        found.lengths.append(length)
        found.truncated += step.was_cut
        told(episode + 1)
    return found
