"""The trusted side of runs: configuration, queue, workers and their reports."""

from app.runs.branching import BranchRequest, branch_request, make_branch
from app.runs.groups import (
    GroupPoint,
    GroupStatistics,
    ends_of,
    group_name,
    group_statistics,
    has_ended_solved,
    iqm_with_interval,
    scores_of_one_kind,
)
from app.runs.policies import check_code, check_has_policy, load_policy
from app.runs.service import RunService
from app.runs.services import RunServices
from app.runs.stored_policies import BEST, NEWEST, PolicyAddress, Which, read_policy
from app.runs.trash import UNDO_WITHIN_S

__all__ = [
    "BEST",
    "NEWEST",
    "UNDO_WITHIN_S",
    "BranchRequest",
    "GroupPoint",
    "GroupStatistics",
    "PolicyAddress",
    "RunService",
    "RunServices",
    "Which",
    "branch_request",
    "check_code",
    "check_has_policy",
    "ends_of",
    "group_name",
    "group_statistics",
    "has_ended_solved",
    "iqm_with_interval",
    "load_policy",
    "make_branch",
    "read_policy",
    "scores_of_one_kind",
]
