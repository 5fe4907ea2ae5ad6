"""The settings form: fields from the settings model, parsing and checking, independent of widgets."""

from __future__ import annotations

import inspect
import json
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from operator import attrgetter
from pathlib import Path
from typing import Any, Literal, get_args, get_origin

from pydantic import BaseModel, ValidationError
from pydantic.fields import FieldInfo

from atomr_local.errors import AtomrError, InputError, SettingsError
from atomr_local.settings.schema import Settings, load_settings, origins
from atomr_local.sources.registry import switched_names
from atomr_local.strategies.names import known_names
from atomr_local.strategies.options import checked_options
from atomr_local.strategies.registry import find_strategy
from atomr_local.system.credentials import Secret
from atomr_local.system.sanitize import sanitize, sanitize_line
from atomr_local.tui.colours import names

# The choices of the settings screen: available models, adapters, indexes, strategies and themes.


@dataclass(frozen=True)
class SettingChoice:
    """A value, and what it is in a few words; both come from outside."""

    value: str
    about: str = ""


Choices = Mapping[str, tuple[SettingChoice, ...]]
FREE = frozenset({"model", "adapter", "embedder", "text_index", "graph_index"})  # these take a path or name besides


def at_hand() -> Choices:
    """What is available, by dotted key. Reads the header of every model file: for a thread of its own.

    Raises:
        AtomrError: a directory cannot be read.
    """
    from atomr_local.indexing.builds.space import human_size
    from atomr_local.indexing.store import STARTER, list_indexes
    from atomr_local.models.catalog.find import list_models

    found: dict[str, list[SettingChoice]] = {
        "model": [],
        "adapter": [SettingChoice("auto", "the one made for the model"), SettingChoice("none", "the model as it is")],
        "embedder": [],
    }
    for entry in list_models():
        name = str(entry.path) if entry.kind == "embedder" and entry.name != STARTER else entry.name
        about = f"unusable: {entry.problem}" if entry.problem else human_size(entry.size)
        found[entry.kind].append(SettingChoice(name, about))
    for kind in ("text", "graph"):
        found[f"{kind}_index"] = [SettingChoice("", "the only one built, else the starter"), SettingChoice(STARTER)]
    for index in list_indexes():
        offered = found[f"{index.kind}_index"]
        about = f"not usable: {index.problem}" if index.manifest is None else human_size(index.manifest.bytes)
        if index.name not in {choice.value for choice in offered}:
            offered.append(SettingChoice(index.name, about))
    return {key: tuple(choices) for key, choices in found.items()} | known()


def known() -> dict[str, tuple[SettingChoice, ...]]:
    """What is known without looking at files."""
    from atomr_local.strategies.registry import all_strategies

    return {
        "strategy": tuple(SettingChoice(name, strategy.summary) for name, strategy in all_strategies().items()),
        "ui.theme": (SettingChoice("", "chosen from the terminal"), *(SettingChoice(name) for name in names())),
    }


def checks() -> dict[str, Callable[[Any], object]]:
    """Whether there is what a setting names, by dotted key. Each raises an AtomrError where there is not."""
    from atomr_local.models.catalog.find import find_model

    return {
        "model": lambda value: _is_file(find_model(value)),
        "adapter": _adapter,
        "embedder": _embedder,
        "text_index": lambda value: _index("text", value),
        "graph_index": lambda value: _index("graph", value),
        "strategy": find_strategy,
    }


def _adapter(value: str) -> None:
    from atomr_local.models.catalog.find import find_adapter

    if value not in {"auto", "none"}:
        path = find_adapter(value, Path())
        if path is not None:
            _is_file(path)


def _embedder(value: str) -> None:
    from atomr_local.models.catalog.find import STARTER

    if value != STARTER and not Path(value).expanduser().is_dir():
        raise AtomrError(f"there is no directory {value}")


def _index(kind: str, value: str) -> None:
    from atomr_local.indexing.store import STARTER, check_name, index_names, list_indexes

    names = index_names(value)
    if kind != "text" and len(names) > 1:
        raise AtomrError(f"{value!r} names several {kind} indexes", hint="Name one.")
    built = [index.name for index in list_indexes() if index.kind == kind]
    for name in names:
        if name != STARTER and check_name(name) not in built:
            raise AtomrError(f"there is no {kind} index named {name!r}", hint=f"Built: {', '.join(built) or 'none'}.")


def _is_file(path: Path) -> None:
    if not path.is_file():
        raise AtomrError(f"there is no file {path}")


# Settings that are tables, as lines of text: `id = key`, and `NAME.OPTION = VALUE` for options of strategies.

OPTIONS = "strategies"

_EXAMPLE = "rag.top_k = 5"  # the name of a strategy, as it is typed


def options_in(text: str) -> dict[str, dict[str, Any]]:
    """Options of strategies by strategy; those of one that is not installed are not checked.

    Raises:
        InputError: a line is not such a line, or a strategy has no such option or refuses the value.
    """
    found: dict[str, dict[str, Any]] = {}
    for place, value in table_of(text, "NAME.OPTION = VALUE").items():
        name, _, option = (part.strip() for part in place.partition("."))
        if not (name and option):
            raise InputError(f"{place}: write it as NAME.OPTION = VALUE, such as {_EXAMPLE}")
        found.setdefault(name, {})[option] = _plain(value)
    try:
        for name in set(found).intersection(known_names()):
            checked_options(find_strategy(name), found[name])
    except SettingsError as error:
        raise InputError(error.message, hint=error.hint) from error
    return found


def options_text(options: Mapping[str, Mapping[str, Any]]) -> str:
    """The lines of :func:`options_in`."""
    return "\n".join(
        f"{name}.{option} = {value if isinstance(value, str) else json.dumps(value)}"
        for name, given in options.items()
        for option, value in given.items()
    )


def _plain(text: str) -> bool | int | float | str:
    """A truth value or a number as what it is; anything else as text."""
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        return text
    return value if isinstance(value, bool | int | float) else text


def table_of(text: str, form: str = "id = key") -> dict[str, str]:
    """The lines `id = key` as a dictionary.

    Raises:
        InputError: a line is not such a line, or an id comes twice.
    """
    table: dict[str, str] = {}
    name_word, _, value_word = form.partition(" = ")
    for number, line in enumerate(text.splitlines(), 1):
        if not line.strip():
            continue
        name, sign, key = (part.strip() for part in line.partition("="))
        if not sign:
            raise InputError(f"line {number}: write it as {form}")
        if not name or not key:
            raise InputError(f"line {number}: the {value_word if name else name_word} is missing")
        if name in table:
            raise InputError(f"line {number}: {name} stands in an earlier line too")
        table[name] = key
    return table


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


# The entered value of each setting, independent of widgets.


class SettingEntry:
    """Knows the value as it was, what is entered now and what is wrong with it.

    Attributes:
        entered: as :meth:`FormField.parse` takes it, and as an editor holds it.
        problem: why what is entered is not usable; empty if it is.
        warning: what is wrong with the value as it was, which may stay so; see :meth:`look_again`.
        offered: what there is to choose from; None: not known yet, or nothing is.
    """

    def __init__(
        self,
        field: FormField,
        value: Any,
        origin: str = "default",
        *,
        choices: Sequence[SettingChoice] | None = None,
        free: bool = False,
        check: Check | None = None,
    ) -> None:
        """Make the entry of a setting.

        Args:
            value: what is in force.
            origin: where that comes from; see :func:`atomr_local.tui.screens.settings.form.where_from`.
            choices: what is offered; None: nothing is, or it is told later by :attr:`offered`.
            free: whether there is something to choose from, and something else may be entered besides.
            check: raises an AtomrError where there is not what a value names.
        """
        self.field = field
        self.origin = origin
        self.free = free
        self.offered = (
            tuple(map(SettingChoice, field.choices)) if field.kind == "choice" and choices is None else choices
        )
        self.chosen_from_list = free or self.offered is not None
        self.problem = self.warning = ""
        self._check = check
        self._before = self._value = value
        self._reset = False
        self._shown = self._as_entered(value)
        self.entered = self._shown

    @property
    def changed(self) -> bool:
        """Whether saving would change something."""
        return bool(self.problem) or self._value != self._before or self._reset

    @property
    def can_reset(self) -> bool:
        """Whether going back to the default would change something."""
        in_file = self.origin == "settings file" and not self._reset
        return bool(self.problem) or self._value != self.field.default or in_file

    @property
    def is_set(self) -> bool:
        """Whether there is a value, for a secret that is not shown."""
        return bool(self._value)

    @property
    def to_save(self) -> Any:
        """The value for the settings file; None for the default, which is not written down."""
        value = self._value
        return None if value == self.field.default else list(value) if isinstance(value, tuple) else value

    def look_again(self) -> None:
        """Check the value as it was, which nobody has entered here."""
        try:
            if self._check is not None:
                self._check(self._before)
        except AtomrError as error:
            self.warning = _told(error)

    def reset(self) -> None:
        """Enter the default; saving takes the setting out of the file."""
        self._value, self.problem = self.field.default, ""
        self._reset = self.origin == "settings file"
        self.entered = self._as_entered(self.field.default)

    def enter(self, entered: Any) -> None:
        """Take what an editor holds now, and check it."""
        if entered == self.entered:
            return  # editors tell what they hold also when they appear
        self.entered = entered
        if self.field.secret and not entered:
            # An empty line means that nothing was typed; the way to empty it is its default.
            self._value, self.problem = self.field.default if self._reset else self._before, ""
        elif entered == self._shown and not self._reset:
            self._value, self.problem = self._before, ""  # as it was, whatever today's rules say of it
        else:
            self._read(entered)

    def _read(self, entered: Any) -> None:
        try:
            value = self.field.parse(entered)
            if self._check is not None:
                self._check(value)
        except AtomrError as error:
            self.problem = _told(error)
            return
        self.problem, self._value = "", value
        if value != self.field.default:
            self._reset = False

    def _as_entered(self, value: Any) -> Any:
        if self.field.secret:
            return ""
        if self.field.kind in {"switch", "several"} or (self.chosen_from_list and not self.free):
            return value
        shown = self.field.show(value)
        return sanitize(shown) if self.field.kind == "table" else sanitize_line(shown)


def _told(error: AtomrError) -> str:
    return sanitize_line(f"{error.message}. {error.hint}" if error.hint else error.message)
