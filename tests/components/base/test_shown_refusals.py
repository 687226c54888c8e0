from nicegui import ui
from nicegui.testing import User

from app.accounts.errors import ForbiddenError
from components.base.refusal import Refusal
from components.setup.live_changes import LiveChanges
from storage.errors import RunNotFoundError


async def test_a_form_shows_that_a_run_does_not_exist(user: User) -> None:
    async def load() -> None:
        raise RunNotFoundError("r1")

    @ui.page("/refusal")
    async def page() -> None:
        await Refusal().watch(load())

    await user.open("/refusal")

    await user.should_see("There is no run 'r1'.")


async def test_live_changes_show_that_a_run_belongs_to_another_user(user: User) -> None:
    async def refuse(_: object) -> None:
        raise ForbiddenError("Run r1 is not yours.")

    @ui.page("/steering")
    def page() -> None:
        LiveChanges(on_change=refuse)

    await user.open("/steering")
    user.find("New total timesteps").type("1000")
    user.find("Apply").click()

    await user.should_see("Run r1 is not yours.")
