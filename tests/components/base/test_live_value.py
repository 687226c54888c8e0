from nicegui import ui
from nicegui.testing import User

from components.base.live_value import LiveBar, LiveText


async def test_what_changes_often_does_not_draw_the_page_anew(user: User) -> None:
    made: list[tuple[ui.label, LiveText, LiveBar]] = []

    @ui.page("/live")
    def page() -> None:
        made.append((ui.label("3 %"), LiveText("3 %"), LiveBar("Progress")))

    client = await user.open("/live")
    client.outbox.updates.clear()
    (label, text, bar), *_ = made

    text.set_text("4 %")
    bar.show(4.0)
    assert not client.outbox.updates
    assert (text.props["text"], bar.props["percent"]) == ("4 %", 4.0)
    await user.should_see("4 %")

    label.set_text("5 %")
    assert list(client.outbox.updates) == [label.id]
