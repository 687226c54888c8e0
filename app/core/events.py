"""The lab's only dependency on NiceGUI: typed events that pages can subscribe to."""

from nicegui import Event

__all__ = ["Event"]
