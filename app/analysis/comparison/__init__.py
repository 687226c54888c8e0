"""Comparison of runs: different settings, results, and whether differences are significant."""

from app.analysis.comparison.across_tasks import AcrossTasks, MethodResult
from app.analysis.comparison.comparing import Comparing, Comparison
from app.analysis.comparison.conclusions import COMPARISON_METHOD, Conclusion
from app.analysis.comparison.differences import Difference, code_difference, has_custom_reward
from app.analysis.comparison.entries import MAX_ENTRIES, Entry, Missing, fold, read_keys, unfold
from app.analysis.comparison.human_scores import (
    human_normalized_evaluation,
    human_normalized_score,
)
from app.analysis.comparison.lineage import Change, Node, branch_of
from app.analysis.comparison.lines import Line
from app.analysis.comparison.numbers import Measured, Numbers, final_reward
from app.analysis.comparison.scoring import SCORE_METRIC

__all__ = [
    "COMPARISON_METHOD",
    "MAX_ENTRIES",
    "SCORE_METRIC",
    "AcrossTasks",
    "Change",
    "Comparing",
    "Comparison",
    "Conclusion",
    "Difference",
    "Entry",
    "Line",
    "Measured",
    "MethodResult",
    "Missing",
    "Node",
    "Numbers",
    "branch_of",
    "code_difference",
    "final_reward",
    "fold",
    "has_custom_reward",
    "human_normalized_evaluation",
    "human_normalized_score",
    "read_keys",
    "unfold",
]
