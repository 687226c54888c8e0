import asyncio

from nicegui import ui
from nicegui.testing import User

from components.base.dialogs import answer_to


async def test_leaving_the_page_resolves_an_open_dialog_to_none(user: User) -> None:
    answers: list[asyncio.Task[object]] = []

    @ui.page("/asks")
    def page() -> None:
        with ui.dialog() as dialog:
            ui.label("Really")
        ui.button("Ask", on_click=lambda: answers.append(asyncio.ensure_future(answer_to(dialog))))

    await user.open("/asks")
    user.find("Ask").click()
    await user.should_see("Really")

    assert user.client is not None
    user.client.delete()

    assert await asyncio.wait_for(answers[0], timeout=5) is None
