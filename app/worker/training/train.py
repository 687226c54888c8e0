"""Train a model and report how it goes."""

from typing import Any

import msgspec
from sb3_contrib import MaskablePPO
from stable_baselines3.common.base_class import BaseAlgorithm
from stable_baselines3.common.vec_env import VecEnv

from app.protocol import commands, messages
from app.protocol.pipe import Channel, Control
from app.worker.envs.reward_functions import RewardFunction
from app.worker.envs.vectorized.pipeline import make_training_envs, save_scaling, why_one_by_one
from app.worker.models.ars import StopRequestedError
from app.worker.models.cores import settle_threads
from app.worker.models.models import (
    build_model,
    load_weights,
    save_model,
    save_weights,
    settle_engine,
)
from app.worker.training.callback import TrainingCallback
from app.worker.training.checkpoint import restore


def train(job: commands.Train, channel: Channel, control: Control, file: bytes) -> None:
    """Train until the budget is used or the lab says stop; deliver the model either way.

    `file` is a checkpoint to resume from, or the policy of another run to begin with, if any.
    """
    reward = _written_reward(job, channel)
    envs = make_training_envs(job.setup, job.n_envs, reward)
    model, reporter = _begin(job, envs, channel, control, file)
    _learn(model, reporter)
    if not control.stop_requested:
        # So that a completed run can be extended.
        reporter.keeper.between_rollouts(model, reporter.counts, now=True)
    reporter.keeper.deliver()
    _deliver(model, envs, channel)
    channel.send(messages.Finished(reason=_reason(model, reporter, control)))
    envs.close()


def _written_reward(job: commands.Train, channel: Channel) -> RewardFunction | None:
    if job.reward is None:
        return None
    if (why := why_one_by_one(job.setup, job.n_envs)) is not None and not job.resume:
        channel.send(messages.Noted(event_type="engine", message=why))
    return RewardFunction(job.reward.code, job.reward.components)


def _begin(
    job: commands.Train, envs: VecEnv, channel: Channel, control: Control, file: bytes
) -> tuple[BaseAlgorithm, TrainingCallback]:
    setup, why_not_fast = settle_engine(job.setup, envs)
    started = messages.Started(engine=setup.engine, why_not_fast=why_not_fast)
    if not job.resume:
        model = build_model(setup, envs, seed=job.seed)
        if job.transfer:
            load_weights(model, envs, file)
        reporter = TrainingCallback(job, envs, channel, control)
        reporter.init_callback(model)
        channel.send(started)
        if (more_cores := settle_threads(model)) is not None:
            channel.send(messages.Noted(event_type="engine", message=more_cores))
        return model, reporter
    restored = restore(
        file,
        setup,
        envs,
        alive=lambda: channel.send(messages.Alive()),
    )
    model = restored.model
    reporter = TrainingCallback(job, envs, channel, control, restored.counts)
    reporter.init_callback(model)
    for change in job.changes:
        reporter.change(change)
    facts = {"timesteps": model.num_timesteps, "notes": tuple(restored.notes)}
    channel.send(msgspec.structs.replace(started, **facts))
    return model, reporter


def _learn(model: BaseAlgorithm, reporter: TrainingCallback) -> None:
    more: dict[str, Any] = {"use_masking": True} if isinstance(model, MaskablePPO) else {}
    try:
        # Once, or more often if the budget grows meanwhile.
        while model.num_timesteps < reporter.total and not reporter.must_end:
            left = reporter.total - model.num_timesteps
            model.learn(
                left,
                callback=reporter,
                log_interval=None,  # type: ignore[arg-type]  # None: never
                reset_num_timesteps=False,
                **more,
            )
    except StopRequestedError:
        pass
    except BaseException:
        reporter.give_up()
        raise
    reporter.finish()


def _deliver(model: BaseAlgorithm, envs: VecEnv, channel: Channel) -> None:
    channel.send_file("model.zip", save_model(model))
    channel.send_file("policy.pt", save_weights(model, envs), timesteps=model.num_timesteps)
    if (scaling := save_scaling(envs)) is not None:
        channel.send_file("vecnormalize.pkl", scaling)


def _reason(
    model: BaseAlgorithm, reporter: TrainingCallback, control: Control
) -> messages.EndReason:
    if control.stop_requested:
        return "stopped"
    is_early = model.num_timesteps < reporter.total
    return "solved" if reporter.has_solved and is_early else "budget"
