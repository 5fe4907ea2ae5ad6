"""Text of several lines that takes in nothing which could drive the terminal."""

from __future__ import annotations

from dataclasses import replace

from textual.widgets import TextArea
from textual.widgets.text_area import Edit, EditResult

from atomr_local.sanitize import sanitize


class CleanArea(TextArea):
    """Sanitises what comes into it, however it comes: loaded, typed, pasted or set."""

    def _set_document(self, text: str, language: str | None) -> None:
        super()._set_document(sanitize(text), language)

    def edit(self, edit: Edit) -> EditResult:
        clean = sanitize(edit.text)
        return super().edit(edit if clean == edit.text else replace(edit, text=clean))
