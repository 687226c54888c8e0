from nicegui import ui
from nicegui.testing import User

from app.accounts.errors import ForbiddenError
from components.base.refusal import Refusal
from components.setup.steering import Steering
from storage.errors import RunNotFoundError


async def test_a_form_says_that_a_run_is_gone(user: User) -> None:
    async def look() -> None:
        raise RunNotFoundError("r1")

    @ui.page("/refusal")
    async def page() -> None:
        await Refusal().watch(look())

    await user.open("/refusal")

    await user.should_see("There is no run 'r1'.")


async def test_steering_says_that_a_run_is_somebody_elses(user: User) -> None:
    async def refuse(_: object) -> None:
        raise ForbiddenError("Run r1 is not yours.")

    @ui.page("/steering")
    def page() -> None:
        Steering(on_change=refuse)

    await user.open("/steering")
    user.find("New budget").type("1000")
    user.find("Apply").click()

    await user.should_see("Run r1 is not yours.")
