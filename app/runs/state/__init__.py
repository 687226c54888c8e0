"""How runs stand: their life and event log, metrics and pictures for those who watch."""
