"""The settings form: fields from the settings model, parsing and checking, independent of widgets."""

from __future__ import annotations

import inspect
import os
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from operator import attrgetter
from typing import Any, Literal, get_args, get_origin

from pydantic import BaseModel, ValidationError
from pydantic.fields import FieldInfo

from atomr_local.credentials import Secret
from atomr_local.errors import InputError
from atomr_local.settings.schema import Settings, load_settings, origins
from atomr_local.sources.registry import switched_names
from atomr_local.tui.screens.settings.option_lines import OPTIONS, options_in, options_text, table_of

Kind = Literal["switch", "choice", "number", "text", "several", "table"]
Check = Callable[[Any], object]
GENERAL = "general"


@dataclass(frozen=True)
class FormField:
    """One setting.

    Attributes:
        key: dotted, as in the settings file.
        group: the first part of the key; `general` for a setting in no group.
        bounds: what a number must keep to, in words; empty if there is no bound.
        choices: the only values, for `choice` and `several`.
        secret: never shown.
    """

    key: str
    group: str
    name: str
    kind: Kind
    description: str
    default: Any
    model: type[BaseModel]
    bounds: str = ""
    choices: tuple[str, ...] = ()
    secret: bool = False

    def parse(self, entered: Any) -> Any:
        """The value that was entered, checked by the settings model's own rules.

        Args:
            entered: what a widget holds: a string, a bool for a switch, a tuple for `several`.

        Raises:
            InputError: it is not usable.
        """
        value: Any = entered
        if self.kind == "table":
            value = options_in(entered) if self.key == OPTIONS else table_of(entered)
        if self.kind == "number":
            value = value.strip().replace("_", "")
            if not value:
                raise InputError("expected a number")
        try:
            # On an instance of defaults, so that the rules of the whole group are asked, not of the field alone.
            blank = self.model.model_construct()
            checked = type(blank).__pydantic_validator__.validate_assignment(blank, self.name, value)
        except ValidationError as error:
            raise InputError(_validation_message(error)) from error
        return getattr(checked, self.name)

    def show(self, value: Any) -> Any:
        """A value as a widget holds it; the reverse of :meth:`parse`."""
        if self.key == OPTIONS:
            return options_text(value)
        if self.kind == "table":
            return "\n".join(f"{name} = {key}" for name, key in value.items())
        return value if self.kind in {"switch", "several"} else str(value)

    def summary(self, value: Any) -> str:
        """A value in a few words."""
        if self.secret:
            return f"{value} (set)" if value else "not set"
        if self.kind == "switch":
            return "on" if value else "off"
        if self.kind == "several":
            return ", ".join(value) or "none"
        if self.kind == "table":
            number = sum(map(len, value.values())) if self.key == OPTIONS else len(value)
            return f"{number} of your own" if number else "none"
        return str(value) if value != "" else "empty"

    def found_by(self, words: str) -> bool:
        """Whether every word of a search is in the key or the description."""
        text = f"{self.key} {self.description}".casefold()
        return all(word in text for word in words.casefold().split())


def form_fields() -> list[FormField]:
    """Every setting in the order of the model, those in no group first."""
    fields = list(_fields(Settings, ""))
    return [field for field in fields if field.group == GENERAL] + [field for field in fields if field.group != GENERAL]


def group_title(group: str) -> str:
    """What a group of settings is about: the first line of its model's documentation."""
    info = Settings.model_fields.get(group)
    kind = info.annotation if info is not None else None
    about = inspect.cleandoc(getattr(kind, "__doc__", None) or "").partition("\n")[0]
    return f"{group} — {about}" if about else group


def _fields(model: type[BaseModel], prefix: str) -> Iterator[FormField]:
    for name, info in model.model_fields.items():
        kind = info.annotation
        if isinstance(kind, type) and issubclass(kind, BaseModel):
            yield from _fields(kind, f"{prefix}{name}.")
        else:
            yield _field(model, prefix, name, info)


def _field(model: type[BaseModel], prefix: str, name: str, info: FieldInfo) -> FormField:
    annotation = info.annotation
    choices: tuple[str, ...] = ()
    kind: Kind = "text"
    if annotation is bool:
        kind = "switch"
    elif annotation in (int, float):
        kind = "number"
    elif get_origin(annotation) is Literal:
        kind, choices = "choice", tuple(map(str, get_args(annotation)))
    elif get_origin(annotation) is tuple:
        kind, choices = "several", tuple(switched_names())  # the one such setting is `sources`
    elif get_origin(annotation) is dict:
        kind = "table"
    return FormField(
        key=f"{prefix}{name}",
        group=prefix.partition(".")[0] or GENERAL,
        name=name,
        kind=kind,
        description=info.description or "",
        default=info.get_default(call_default_factory=True),
        model=model,
        bounds=_bounds(info),
        choices=choices,
        secret=annotation is Secret,
    )


def _bounds(info: FieldInfo) -> str:
    limits: dict[str, Any] = {}
    for rule in info.metadata:
        for name in ("ge", "gt", "le", "lt"):
            if getattr(rule, name, None) is not None:
                limits[name] = getattr(rule, name)
    if "ge" in limits and "le" in limits:
        return f"{limits['ge']} to {limits['le']}"
    words = {"ge": "at least", "gt": "more than", "le": "at most", "lt": "less than"}
    return ", ".join(f"{words[name]} {limits[name]}" for name in words if name in limits)


def _validation_message(error: ValidationError) -> str:
    """The first thing that is wrong, without the library's own preface."""
    first = error.errors()[0]
    if first["type"] in {"int_parsing", "int_from_float"}:
        return "expected a whole number"
    if first["type"] in {"float_parsing", "finite_number"}:
        return "expected a number"
    message = first["msg"].removeprefix("Value error, ").removeprefix("Input ")
    return message.removeprefix("String ")


def where_from(settings: Settings) -> dict[str, str]:
    """Where each value comes from, by dotted key, as far as known.

    `default`, `settings file`, the name of an environment variable, or `command line or this session` for a value
    that neither the file nor the environment gives.

    Raises:
        SettingsError: the settings file cannot be read any more.
    """
    origin_of, plain = origins(), load_settings()
    found = {}
    for field in form_fields():
        key = field.key
        value_of = attrgetter(key)
        if value_of(settings) != value_of(plain):
            found[key] = "command line or this session"
        elif origin_of.get(key) == "environment":
            found[key] = _variable(key)
        else:
            found[key] = origin_of.get(key, "default")
    return found


def _variable(key: str) -> str:
    own = f"ATOMR_{key.replace('.', '__')}".upper()
    whole = f"ATOMR_{key.partition('.')[0]}".upper()  # a whole group as JSON
    return own if own in {name.upper() for name in os.environ} else whole
