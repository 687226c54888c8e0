from typing import Any

import pytest
from nicegui import ui
from nicegui.awaitable_response import NullResponse
from nicegui.testing import User

from components.base.hyperparameter_field import TextInput


async def test_a_value_set_while_the_page_is_built_is_not_sent_again(
    user: User, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Sending it again would overwrite what the user has typed meanwhile."""
    sent: dict[str, list[str]] = {"plain": [], "ours": []}

    def set_value(kind: type[ui.input], calls: list[str]) -> None:
        def record(code: str, **_: Any) -> NullResponse:
            calls.append(code)
            return NullResponse()

        monkeypatch.setattr(ui.context.client, "run_javascript", record)
        kind(value="1").set_value("2")

    @ui.page("/early")
    def page() -> None:
        set_value(ui.input, sent["plain"])
        set_value(TextInput, sent["ours"])

    await user.open("/early")

    assert len(sent["plain"]) == 1
    assert "updateValue" in sent["plain"][0]
    assert sent["ours"] == []
    await user.should_see("2")
