"""A page with only a code editor, behind the request filter of the lab."""

import ast
import sys
from collections.abc import Sequence
from dataclasses import dataclass

from nicegui import app, ui

from app.authoring.rewards.completions import Word
from app.web.assets import ASSETS_FOLDER, ASSETS_URL
from app.web.request_filter import RequestFilter
from components.code_editor.code_editor import UNSCALED_DIALOG, CodeEditor, Handlers
from components.shell.theme import STYLESHEET, STYLESHEET_URL, ThemeSwitch

TEXT = "def reward(obs, action):\n    return {'a':1.0}\n"
WORDS = (
    Word("obs", detail="array", about="What the agent saw."),
    Word("cart_position", detail="-4.8 to 4.8", about="Where the cart is.", of="obs"),
    Word("pole_angle", of="obs"),
)


@dataclass(frozen=True)
class Problem:
    line: int
    column: int
    message: str
    end_line: int | None = None
    end_column: int | None = None
    is_error: bool = True


async def check(code: str) -> Sequence[Problem]:
    try:
        ast.parse(code)
    except SyntaxError as error:
        return [Problem(error.lineno or 1, error.offset or 1, str(error.msg))]
    return []


@ui.page("/")
def page() -> None:
    ui.add_head_html(f'<link rel="stylesheet" href="{STYLESHEET_URL}">')
    saved = ui.label()

    async def save(text: str) -> str:
        saved.set_text(f"Saved {len(text.splitlines())} lines")
        return "Saved"

    editor = CodeEditor(TEXT, label="Reward code", check=check, on=Handlers(save=save))
    editor.offer(WORDS)
    server_text = ui.label().classes("server-text")
    ui.label("RL LAB // GYM MANAGER")
    ui.button("Compare", on_click=lambda: editor.compare(TEXT, "the default"))
    ui.button("Compare no more", on_click=lambda: editor.compare(None))
    ui.button("Begin again", on_click=lambda: editor.write(TEXT))
    ui.button("Write", on_click=lambda: editor.write("x = 1\n"))
    ui.button("Second line", on_click=lambda: editor.reveal(2))
    ui.button("Read", on_click=lambda: server_text.set_text(repr(editor.text)))
    with ui.dialog().props(UNSCALED_DIALOG) as dialog, ui.card().classes("lab-full"):
        CodeEditor("locked = 1\n", label="Code of a run", read_only=True)
        ui.button("Close", on_click=dialog.close)
    ui.button("Open a run", on_click=dialog.open)
    ThemeSwitch()


if __name__ == "__main__":
    app.add_static_files(ASSETS_URL, ASSETS_FOLDER)
    app.add_static_file(local_file=STYLESHEET, url_path=STYLESHEET_URL)
    app.add_middleware(RequestFilter, hosts=["127.0.0.1"])
    ui.run(port=int(sys.argv[1]), host="127.0.0.1", show=False, reload=False, title="Editor")
