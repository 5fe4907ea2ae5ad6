"""Renders a chat template, also in a child process."""

from __future__ import annotations

import json
from datetime import datetime
from typing import TYPE_CHECKING, Any, NoReturn

if TYPE_CHECKING:
    from atomr_local.system.sandbox import Parent


def outcome(task: dict[str, Any]) -> dict[str, str]:
    """The `text` that the template writes, the `error` that it raises, or the `limit` that it passes.

    Args:
        task: `template`, `turns`, `eos` and `bos` as texts, `characters` to be written at most.
    """
    try:
        return _rendered(task)
    except MemoryError:
        return {"limit": "it needs too much memory"}
    except Exception as error:  # a template is code of whoever made the file: anything can be wrong with it
        return {"error": str(error)[:1000] or type(error).__name__}


def _rendered(task: dict[str, Any]) -> dict[str, str]:
    import jinja2
    from jinja2.ext import Extension, loopcontrols
    from jinja2.sandbox import ImmutableSandboxedEnvironment

    class GenerationTags(Extension):
        """`{% generation %}`, which marks what a model was trained on, says nothing here."""

        tags = {"generation"}  # noqa: RUF012

        def parse(self, parser: Any) -> Any:
            parser.stream.skip(1)
            return parser.parse_statements(("name:endgeneration",), drop_needle=True)

    def refuse(message: str) -> NoReturn:
        raise ValueError(message)

    def to_json(value: Any, ensure_ascii: bool = False, indent: int | None = None, **others: Any) -> str:
        wanted = {name: others[name] for name in ("separators", "sort_keys") if name in others}
        return json.dumps(value, ensure_ascii=ensure_ascii, indent=indent, **wanted)

    # As transformers sets Jinja up for chat templates (utils/chat_template_utils.py).
    environment = ImmutableSandboxedEnvironment(
        loader=jinja2.BaseLoader(), trim_blocks=True, lstrip_blocks=True, extensions=[GenerationTags, loopcontrols]
    )
    environment.filters["tojson"] = to_json
    pieces: list[str] = []
    left = int(task["characters"])
    for piece in environment.from_string(task["template"]).generate(
        messages=task["turns"], eos_token=task["eos"], bos_token=task["bos"], add_generation_prompt=True,
        raise_exception=refuse, strftime_now=lambda form: datetime.now().strftime(form), functions=None,
        function_call=None, tools=None, tool_choice=None,
        enable_thinking=False,  # reasoning models would otherwise open with a monologue that no grammar allows
    ):  # fmt: skip
        left -= len(piece)
        if left < 0:
            return {"limit": f"it writes more than {task['characters']} characters around the messages"}
        pieces.append(piece)
    return {"text": "".join(pieces)}


def serve(task: dict[str, Any], parent: Parent) -> None:
    """In the child process: answer the task by its outcome."""
    parent.send(outcome(task))
