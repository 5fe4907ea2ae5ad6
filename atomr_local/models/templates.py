"""Prompt templates: text files with named slots, next to the code that fills them.

A template is a sequence of sections, each headed by a line `--- system`, `--- user` or `--- assistant`. The
last section is the dynamic part; `$name` slots may stand in it alone, so that everything before it is the same
for every call and can stay in the prefix cache.
"""

from __future__ import annotations

import re
from functools import lru_cache
from importlib.resources import files
from string import Template
from typing import Literal, cast

from atomr_local.models.protocol import Message, Prompt, Role

# `full` prompts instruct and show examples; `lean` ones are a tag and the facts, for an adapter trained on them.
Style = Literal["full", "lean"]
_HEADER = re.compile(r"^--- (system|user|assistant)\n", re.MULTILINE)


@lru_cache(maxsize=64)
def _sections(package: str, name: str) -> tuple[Message, ...]:
    return turns(files(package).joinpath("prompts", f"{name}.txt").read_text(encoding="utf-8"))


@lru_cache(maxsize=64)
def has_template(package: str, name: str) -> bool:
    """Whether the package has the template `prompts/<name>.txt`."""
    return files(package).joinpath("prompts", f"{name}.txt").is_file()


def in_style(name: str, style: Style) -> str:
    """The name of the template's version in this style."""
    return name if style == "full" else f"lean_{name}"


def turns(text: str) -> tuple[Message, ...]:
    """The turns of a text whose sections are headed `--- system`, `--- user` or `--- assistant`."""
    parts = _HEADER.split(text)
    return tuple(
        Message(cast(Role, role), content.strip()) for role, content in zip(parts[1::2], parts[2::2], strict=True)
    )


def render(package: str, name: str, examples: tuple[Message, ...] = (), /, **slots: str) -> Prompt:
    """Fill the template `prompts/<name>.txt` of a package.

    Args:
        examples: turns put before the last section, as further static part.
        slots: values of the last section's slots; their text is never looked into for slots.

    Raises:
        KeyError: a slot of the template has no value.
    """
    *static, last = _sections(package, name)
    filled = Message(last.role, Template(last.content).substitute(slots))
    return Prompt(static=(*static, *examples), dynamic=(filled,))
