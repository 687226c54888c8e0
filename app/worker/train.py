"""Train a model and report how it goes."""

from app.worker import messages
from app.worker.channel import Channel, Control
from app.worker.models import build_model, make_training_envs, save_model
from app.worker.reporter import Reporter, StopRequestedError


def train(job: messages.Train, channel: Channel, control: Control) -> None:
    """Train until the budget is used or the lab says stop; deliver the model either way."""
    envs = make_training_envs(job.env_id, job.n_envs)
    model = build_model(job, envs, seed=job.seed)
    reporter = Reporter(job.total_timesteps, channel, control)
    channel.send(messages.Started())
    try:
        model.learn(job.total_timesteps, callback=reporter, log_interval=None)  # type: ignore[arg-type]
    except StopRequestedError:
        reporter.close()
    channel.send_file("model.zip", save_model(model))
    channel.send(messages.Finished(reason="stopped" if control.stop_requested else "budget"))
    envs.close()
