"""The doctor: finds problems in the metrics of runs and suggests changes."""

from app.analysis.doctor.doctor import Doctor
from app.analysis.doctor.findings import Findings
from app.analysis.doctor.proposals import applicable_now, describe_change

__all__ = ["Doctor", "Findings", "applicable_now", "describe_change"]
