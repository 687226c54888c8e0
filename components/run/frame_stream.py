"""The element that shows live frames of a run."""

from nicegui import ui


class FrameStream(ui.element, component="frame_stream.js"):
    """Draws the frames of one stream, or a still image if there are none."""

    def show(self, *, url: str | None, still: str | None, note: str | None, live: bool) -> None:
        """Show the frames from `url` on top of the image `still`, with a one-line note."""
        wanted = {"url": url or "", "still": still or "", "note": note or "", "live": live}
        if any(self._props.get(name) != value for name, value in wanted.items()):
            self._props.update(wanted)
            self.update()

    def clear_frame(self) -> None:
        """Remove the last frame until the next one arrives."""
        self.run_method("clear")
