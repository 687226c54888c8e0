"""Access control for runs: checks what a principal may do and returns typed proofs."""

from app.access.access import Access

__all__ = ["Access"]
