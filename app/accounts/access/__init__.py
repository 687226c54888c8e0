"""Permissions apart from runs: whether a user may submit code."""

from app.accounts.access.code_policy import UNLOCKED, CodePolicy, CodeRules

__all__ = ["UNLOCKED", "CodePolicy", "CodeRules"]
