from nicegui import ui
from nicegui.testing import User

from components.base.steady_rows import SteadyRows


async def test_remaining_rows_keep_their_elements_in_the_requested_order(user: User) -> None:
    @ui.page("/rows")
    def page() -> None:
        with ui.element("ul") as box:
            rows = SteadyRows[str](box, lambda text: ui.label(text).mark(f"row-{text}"))

            def show(texts: str) -> dict[str, int]:
                rows.show(texts)
                labels = [child for child in box if isinstance(child, ui.label)]
                assert "".join(label.text for label in labels) == texts
                return {label.text: label.id for label in labels}

            before = show("abc")
            after = show("dca")
            assert {name: after[name] for name in "ac"} == {name: before[name] for name in "ac"}
            assert after["d"] not in before.values()
            assert show("") == {}
            assert len(show("aa")) == 1
        ui.label("All is well")

    await user.open("/rows")

    await user.should_see("All is well")
