"""Tables for administrators."""
