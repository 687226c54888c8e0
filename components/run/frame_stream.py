"""The stage on which a run is seen live."""

from nicegui import ui


class FrameStream(ui.element, component="frame_stream.js"):
    """Draws the pictures of one address, or a still where there are none."""

    def show(self, *, url: str | None, still: str | None, note: str | None, live: bool) -> None:
        """Show the pictures that come from `url` over `still`, with one line of text."""
        wanted = {"url": url or "", "still": still or "", "note": note or "", "live": live}
        if any(self._props.get(name) != value for name, value in wanted.items()):
            self._props.update(wanted)
            self.update()

    def clear_picture(self) -> None:
        """Take the last picture off the stage until the next one comes."""
        self.run_method("clear")
