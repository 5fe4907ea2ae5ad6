"""Fields that take in nothing which could drive the terminal, and take every key in its turn."""

from __future__ import annotations

from dataclasses import replace

from textual import events
from textual.widgets import Input, TextArea
from textual.widgets.text_area import Edit, EditResult

from atomr_local.sanitize import sanitize


async def run_in_turn(field: Input | TextArea, event: events.Key) -> None:
    """Run the field's own binding of this key now.

    The library looks bindings up once the key has bubbled up to the app. On a busy machine the letters typed after it
    are in the field by then: Ctrl+U deleted what was typed after it, and Enter asked it.
    """
    if event.is_printable:
        return
    bindings = field._bindings.copy()
    bindings.apply_keymap(field.app._keymap)
    for binding in bindings.key_to_bindings.get(event.key, ()):
        if await field.app.run_action(binding.action, field):
            event.stop()
            event.prevent_default()
            return


class CleanInput(Input):
    """Sanitises what comes into it, however it comes: typed, pasted or set."""

    async def _on_key(self, event: events.Key) -> None:
        await run_in_turn(self, event)

    def validate_value(self, value: str) -> str:
        return sanitize(value).replace("\t", " ").replace("\n", " ")


class CleanArea(TextArea):
    """Sanitises what comes into it, however it comes: loaded, typed, pasted or set."""

    async def _on_key(self, event: events.Key) -> None:
        await run_in_turn(self, event)

    def _set_document(self, text: str, language: str | None) -> None:
        super()._set_document(sanitize(text), language)

    def edit(self, edit: Edit) -> EditResult:
        clean = sanitize(edit.text)
        return super().edit(edit if clean == edit.text else replace(edit, text=clean))
