"""The page for writing custom environments."""

import asyncio

import pytest
from nicegui import ui
from nicegui.testing import User

from app.authoring.environments.template import TEMPLATE
from components.code_editor.code_editor import CodeEditor

pytestmark = pytest.mark.slow


async def test_a_custom_environment_is_checked_saved_and_listed_on_the_home_page(
    user: User,
) -> None:
    await user.open("/")
    user.find("Write your own").click()
    await user.open("/write")
    assert next(iter(user.find(CodeEditor).elements)).text == TEMPLATE

    user.find("Name, such as my-maze").type("my-maze")
    user.find("Check and save").click()
    await user.should_see("It renders frames of 300 x 300.", retries=200)

    await user.open("/write/my-maze")
    await user.should_see("Version 1")
    await user.open("/")
    await user.should_see("my-maze v1")


async def test_an_error_is_shown_with_a_button_for_its_line(user: User) -> None:
    await user.open("/write")
    with user:
        next(iter(user.find(CodeEditor).elements)).write("import nothing_of_this_name\n")

    user.find(marker="check").click()

    await user.should_see("Show line 1", retries=200)


async def test_a_missing_name_is_reported_at_its_field_and_the_check_result_stays(
    user: User,
) -> None:
    await user.open("/write")
    user.find(marker="check").click()
    await user.should_see("It renders frames of 300 x 300.", retries=200)

    (name,) = user.find(kind=ui.input, content="Name, such as my-maze").elements
    user.find("Check and save").click()
    for _ in range(100):
        await asyncio.sleep(0.05)
        if name.error:
            break

    await user.should_see("It renders frames of 300 x 300.")
    assert "name must be 1 to 40 lower-case letters" in (name.error or "")


async def test_a_missing_environment_is_reported(user: User) -> None:
    await user.open("/write/nothing")

    await user.should_see("You have no environment 'nothing'.")
