"""Fields that take in nothing which could drive the terminal."""

from __future__ import annotations

from dataclasses import replace

from textual.widgets import Input, TextArea
from textual.widgets.text_area import Edit, EditResult

from atomr_local.sanitize import sanitize


class CleanInput(Input):
    """Sanitises what comes into it, however it comes: typed, pasted or set."""

    def validate_value(self, value: str) -> str:
        return sanitize(value).replace("\t", " ").replace("\n", " ")


class CleanArea(TextArea):
    """Sanitises what comes into it, however it comes: loaded, typed, pasted or set."""

    def _set_document(self, text: str, language: str | None) -> None:
        super()._set_document(sanitize(text), language)

    def edit(self, edit: Edit) -> EditResult:
        clean = sanitize(edit.text)
        return super().edit(edit if clean == edit.text else replace(edit, text=clean))
