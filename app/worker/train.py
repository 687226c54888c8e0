"""Train a model and report how it goes."""

from stable_baselines3.common.base_class import BaseAlgorithm

from app.worker import messages
from app.worker.channel import Channel, Control
from app.worker.checkpoint import restore
from app.worker.keeper import CheckpointKeeper
from app.worker.models import build_model, make_training_envs, save_model
from app.worker.reporter import Reporter, StopRequestedError


def train(
    job: messages.Train, channel: Channel, control: Control, checkpoint: bytes | None
) -> None:
    """Train until the budget is used or the lab says stop; deliver the model either way."""
    envs = make_training_envs(job.env_id, job.n_envs)
    keeper = CheckpointKeeper(envs, channel)
    if checkpoint is None:
        model = build_model(job, envs, seed=job.seed)
        reporter = Reporter(job.total_timesteps, channel, control, keeper)
        channel.send(messages.Started())
    else:
        restored = restore(checkpoint, job.algorithm, envs)
        model = restored.model
        reporter = Reporter(job.total_timesteps, channel, control, keeper, restored.counts)
        notes = tuple(restored.notes)
        channel.send(messages.Started(timesteps=model.num_timesteps, notes=notes))
    _learn(model, job.total_timesteps, reporter)
    if not control.stop_requested:
        # So that a completed run can be extended.
        keeper.between_rollouts(model, reporter.counts, now=True)
    keeper.deliver()
    channel.send_file("model.zip", save_model(model))
    channel.send(messages.Finished(reason="stopped" if control.stop_requested else "budget"))
    envs.close()


def _learn(model: BaseAlgorithm, total_timesteps: int, reporter: Reporter) -> None:
    left = total_timesteps - model.num_timesteps
    if left <= 0:
        return
    try:
        model.learn(left, callback=reporter, log_interval=None, reset_num_timesteps=False)  # type: ignore[arg-type]
    except StopRequestedError:
        reporter.close()
