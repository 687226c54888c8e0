"""Train a model and report its progress."""

from stable_baselines3.common.base_class import BaseAlgorithm
from stable_baselines3.common.vec_env import VecEnv

from app.protocol import Channel, Control, commands, messages
from app.worker.envs.reward_functions import RewardFunction
from app.worker.envs.vectorized.pipeline import (
    make_training_envs,
    save_normalization,
    single_stepping_notice,
)
from app.worker.models.ars import StopRequestedError
from app.worker.models.cores import choose_threads
from app.worker.models.models import (
    build_model,
    load_weights,
    save_model,
    save_weights,
)
from app.worker.models.schedule_end import set_schedule_end
from app.worker.training.callback import TrainingCallback
from app.worker.training.checkpoint import restore


def train(job: commands.Train, channel: Channel, control: Control, file: bytes) -> None:
    """Train until the budget is used up or a stop is requested, then deliver the model.

    `file` is a checkpoint to resume from, or the policy of another run to start with, if any.
    """
    reward = _custom_reward(job, channel)
    envs = make_training_envs(job.setup, job.n_envs, reward)
    model, callback = _begin(job, envs, channel, control, file)
    _learn(model, callback)
    if not control.stop_requested:
        # The checkpoint allows a completed run to be extended.
        callback.checkpoints.between_rollouts(model, callback.counts, now=True)
    callback.checkpoints.deliver()
    _deliver(model, envs, channel)
    channel.send(messages.Finished(reason=_reason(model, callback, control)))
    envs.close()


def _custom_reward(job: commands.Train, channel: Channel) -> RewardFunction | None:
    if job.reward is None:
        return None
    if (why := single_stepping_notice(job.setup, job.n_envs)) is not None and not job.resume:
        channel.send(messages.Noted(event_type="engine", message=why))
    return RewardFunction(job.reward.code, job.reward.components)


def _begin(
    job: commands.Train, envs: VecEnv, channel: Channel, control: Control, file: bytes
) -> tuple[BaseAlgorithm, TrainingCallback]:
    if not job.resume:
        model = build_model(job.setup, envs, seed=job.seed)
        if job.transfer:
            load_weights(model, envs, file)
        set_schedule_end(model, job.schedule_timesteps)
        callback = TrainingCallback(job, envs, channel, control)
        callback.init_callback(model)
        channel.send(messages.Started())
        if (more_cores := choose_threads(model)) is not None:
            channel.send(messages.Noted(event_type="engine", message=more_cores))
        return model, callback
    restored = restore(
        file,
        job.setup,
        envs,
        on_progress=lambda: channel.send(messages.Alive()),
    )
    model = restored.model
    set_schedule_end(model, job.schedule_timesteps)
    callback = TrainingCallback(job, envs, channel, control, restored.counts)
    callback.init_callback(model)
    for change in job.changes:
        callback.change(change)
    channel.send(messages.Started(timesteps=model.num_timesteps, notes=tuple(restored.notes)))
    return model, callback


def _learn(model: BaseAlgorithm, callback: TrainingCallback) -> None:
    try:
        # More than one iteration if the budget is increased meanwhile.
        while model.num_timesteps < callback.total and not callback.must_end:
            left = callback.total - model.num_timesteps
            model.learn(
                left,
                callback=callback,
                log_interval=None,  # type: ignore[arg-type]  # None: never
                reset_num_timesteps=False,
            )
    except StopRequestedError:
        pass
    except BaseException:
        callback.on_error()
        raise
    callback.finish()


def _deliver(model: BaseAlgorithm, envs: VecEnv, channel: Channel) -> None:
    channel.send_file("model.zip", save_model(model))
    channel.send_file("policy.pt", save_weights(model, envs), timesteps=model.num_timesteps)
    if (normalization := save_normalization(envs)) is not None:
        channel.send_file("vecnormalize.pkl", normalization)


def _reason(
    model: BaseAlgorithm, callback: TrainingCallback, control: Control
) -> messages.EndReason:
    if control.stop_requested:
        return "stopped"
    is_early = model.num_timesteps < callback.total
    return "solved" if callback.has_solved and is_early else "budget"
