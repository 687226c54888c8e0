from nicegui import ui
from nicegui.testing import User

from components.base.live_value import LiveBar, LiveText


async def test_live_values_change_without_an_update_of_their_elements(user: User) -> None:
    created: list[tuple[ui.label, LiveText, LiveBar]] = []

    @ui.page("/live")
    def page() -> None:
        created.append((ui.label("3 %"), LiveText("3 %"), LiveBar("Progress")))

    client = await user.open("/live")
    client.outbox.updates.clear()
    (label, text, bar), *_ = created

    text.set_text("4 %")
    bar.show(4.0)
    assert not client.outbox.updates
    assert (text.props["text"], bar.props["percent"]) == ("4 %", 4.0)
    await user.should_see("4 %")

    label.set_text("5 %")
    assert list(client.outbox.updates) == [label.id]
