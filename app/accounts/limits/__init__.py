"""Limits: attempts, request rates, concurrent slow work, disk use."""

from app.accounts.limits.attempts import Attempts
from app.accounts.limits.disk_use import DiskUse
from app.accounts.limits.rates import OpenConnections, Rate
from app.accounts.limits.sign_in_limits import SignInLimits
from app.accounts.limits.turns import Turns

__all__ = ["Attempts", "DiskUse", "OpenConnections", "Rate", "SignInLimits", "Turns"]
