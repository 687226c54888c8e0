"""The only bridge from the lab to NiceGUI: typed events that pages can subscribe to."""

from nicegui import Event

__all__ = ["Event"]
