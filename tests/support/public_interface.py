"""The public interface as a list that a person can read and compare: `python tests/support/public_interface.py` writes it."""

from __future__ import annotations

import dataclasses
import inspect
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from pydantic import BaseModel

import atomr_local

FILE = Path(__file__).with_name("public_interface.txt")
# Made by the program alone: how is not promised.
_OURS = {"Lookups"}


def listing() -> str:
    """A line for each signature, field and property of the public names, sorted by name."""
    lines = [line for name in sorted(atomr_local.__all__) for line in _lines(name, getattr(atomr_local, name))]
    return "\n".join(lines) + "\n"


def _lines(name: str, found: Any) -> Iterator[str]:
    if not inspect.isclass(found):
        yield f"{name}{_signature(found)}" if callable(found) else name
        return
    bases = ", ".join(base.__name__ for base in found.__bases__ if base is not object)
    yield f"class {name}({bases})" if bases else f"class {name}"
    if issubclass(found, BaseModel):
        yield from (f"  {line}" for line in _settings(found))
    elif dataclasses.is_dataclass(found):
        yield from (f"  {line}" for line in _fields(found))
    elif issubclass(found, dict) or hasattr(found, "__required_keys__"):
        yield from (f"  {key}: {_type(kind)}" for key, kind in found.__annotations__.items())
        return
    elif "__init__" in vars(found) and name not in _OURS:
        yield f"  __init__{_signature(found.__init__)}"
    known = {field.name for field in dataclasses.fields(found)} if dataclasses.is_dataclass(found) else set()
    for member in sorted(dir(found)):
        if member.startswith("_") or member in known or _is_foreign(found, member):
            continue
        value = inspect.getattr_static(found, member)
        if isinstance(value, property):
            yield f"  {member} -> {_type(inspect.signature(value.fget).return_annotation)}"
        elif isinstance(value, classmethod | staticmethod):
            yield f"  {member}{_signature(value.__func__)}"
        elif callable(value):
            yield f"  {member}{_signature(value)}"


def _is_foreign(kind: type, member: str) -> bool:
    """Whether another package's class, such as pydantic's or Exception, has the member."""
    owner = next(base for base in kind.__mro__ if member in vars(base))
    return not owner.__module__.startswith("atomr_local")


def _fields(kind: type) -> Iterator[str]:
    for field in dataclasses.fields(kind):
        if field.init and not field.name.startswith("_"):
            made = field.default is dataclasses.MISSING and field.default_factory is dataclasses.MISSING
            yield f"{field.name}: {_type(field.type)}" + ("" if made else " = …")


def _settings(kind: type[BaseModel], above: str = "") -> Iterator[str]:
    for name, field in kind.model_fields.items():
        group = field.annotation
        if inspect.isclass(group) and issubclass(group, BaseModel):
            yield from _settings(group, f"{above}{name}.")
        else:
            yield f"{above}{name}"


def _signature(function: Any) -> str:
    given = inspect.signature(function)
    kept = [
        part.replace(annotation=_Plain(_type(part.annotation)))
        for name, part in given.parameters.items()
        if name not in ("self", "cls")
    ]
    return str(given.replace(parameters=kept, return_annotation=_Plain(_type(given.return_annotation))))


class _Plain(str):
    """A text that `inspect` shows without quotation marks."""

    __slots__ = ()

    def __repr__(self) -> str:
        return str(self)


def _type(annotation: Any) -> str:
    """The annotation as the source has it."""
    if isinstance(annotation, str):
        return annotation
    return str(getattr(annotation, "__forward_arg__", getattr(annotation, "__name__", annotation)))


if __name__ == "__main__":
    FILE.write_text(listing(), encoding="utf-8")
