"""Queries of accounts."""

from storage.database.accounts.sign_up import NewIdentity, join

__all__ = ["NewIdentity", "join"]
