"""Start, pool and monitor worker processes; check how well they are sandboxed."""

from app.workers.episode_player import EpisodePlayer
from app.workers.errors import (
    Cause,
    Exit,
    JobError,
    JobFailedError,
    JobRefusedError,
    NoWorkerError,
    ProtocolError,
    TooLongError,
    WorkerGoneError,
)
from app.workers.job import Job
from app.workers.pool import MAX_IMAGE_BYTES, WorkerPool
from app.workers.sandbox_check import Sandbox, SandboxLevel, check_sandbox
from app.workers.video import LARGEST_REPLAY, LARGEST_VIDEO, RecordedVideo, Video
from app.workers.worker import PackedPolicy, Piece, Received, RenderedFrame, Worker

__all__ = [
    "LARGEST_REPLAY",
    "LARGEST_VIDEO",
    "MAX_IMAGE_BYTES",
    "Cause",
    "EpisodePlayer",
    "Exit",
    "Job",
    "JobError",
    "JobFailedError",
    "JobRefusedError",
    "NoWorkerError",
    "PackedPolicy",
    "Piece",
    "ProtocolError",
    "Received",
    "RecordedVideo",
    "RenderedFrame",
    "Sandbox",
    "SandboxLevel",
    "TooLongError",
    "Video",
    "Worker",
    "WorkerGoneError",
    "WorkerPool",
    "check_sandbox",
]
