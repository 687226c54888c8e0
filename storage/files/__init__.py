"""Files below the runs folder; no other package builds their paths."""

from storage.files.atomic import Artifact, is_own_file, write_atomically
from storage.files.checkpoint_files import CheckpointFile
from storage.files.clip_files import ClipFiles, runs_with_pending_clips
from storage.files.demonstrations import DemonstrationFolder
from storage.files.evaluation_files import EvaluationFiles, folders_with_pending_evaluations
from storage.files.lab_folder import IncomingRun, LabFolder
from storage.files.reward_versions import RewardFolder, RewardVersion
from storage.files.run_folder import RunFolder, is_portable
from storage.files.snapshot_files import SnapshotFiles

__all__ = [
    "Artifact",
    "CheckpointFile",
    "ClipFiles",
    "DemonstrationFolder",
    "EvaluationFiles",
    "IncomingRun",
    "LabFolder",
    "RewardFolder",
    "RewardVersion",
    "RunFolder",
    "SnapshotFiles",
    "folders_with_pending_evaluations",
    "is_own_file",
    "is_portable",
    "runs_with_pending_clips",
    "write_atomically",
]
