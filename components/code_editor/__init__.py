"""A code editor: Monaco, or CodeMirror on phones."""

from components.code_editor.code_editor import UNSCALED_DIALOG, CodeEditor, Handlers

__all__ = ["UNSCALED_DIALOG", "CodeEditor", "Handlers"]
