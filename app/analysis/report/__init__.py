"""Reports of runs as JSON, as text and as one self-contained HTML page."""

from app.analysis.report.forms import MEDIA_TYPES, Form, write_report
from app.analysis.report.reports import Reports

__all__ = ["MEDIA_TYPES", "Form", "Reports", "write_report"]
