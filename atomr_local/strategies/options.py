"""Options of strategies: their model, and the values that the settings give."""

from __future__ import annotations

import types
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any, Literal, Protocol, Self, Union, get_args, get_origin

from pydantic import BaseModel, ConfigDict, ValidationError, field_validator
from pydantic.fields import FieldInfo

from atomr_local.errors import SettingsError
from atomr_local.settings.schema import problem

if TYPE_CHECKING:
    from atomr_local.settings.schema import Settings

_SHOWN = 40
_KINDS = {bool: "true or false", int: "whole number", float: "number", str: "text"}
_BOUNDS = {"ge": "at least", "gt": "more than", "le": "at most", "lt": "less than"}


class StrategyOptions(BaseModel):
    """The options of a strategy. Subclasses give each option a default, bounds and a description.

    An option is a truth value, a number, a text, or one of given texts. One that may be None takes "none" for it.
    """

    model_config = ConfigDict(
        extra="forbid",
        frozen=True,
        validate_default=True,
        allow_inf_nan=False,
        str_max_length=4096,
        hide_input_in_errors=True,
    )

    @field_validator("*", mode="before")
    @classmethod
    def _none_in_words(cls, value: Any, info: Any) -> Any:
        """TOML, environment and command line have no None."""
        named = isinstance(value, str) and value.strip().lower() == "none"
        return None if named and _optional(cls.model_fields[info.field_name]) else value

    def only_source(self) -> str | None:
        """The one source that the strategy is to ask; None: all that are on."""
        return None

    def searches_facts(self) -> bool:
        """Whether the strategy searches the facts of a graph as text, where a graph is asked."""
        return False

    @classmethod
    def of(cls, options: StrategyOptions) -> Self:
        """The options as this model; the defaults where none are set.

        Raises:
            TypeError: they are another strategy's.
        """
        if isinstance(options, cls):
            return options
        if type(options) is not NoOptions:
            raise TypeError(f"{type(options).__name__} where {cls.__name__} is needed")
        return cls()


class NoOptions(StrategyOptions):
    """For a strategy that has nothing to set."""


class HasOptions(Protocol):
    """A strategy, as far as its options go."""

    name: str
    options: type[StrategyOptions]


def options_of(strategy: HasOptions, settings: Settings) -> StrategyOptions:
    """The strategy's options as the settings have them.

    Raises:
        SettingsError: the strategy has no such option, or a value is not usable.
    """
    return checked_options(strategy, settings.strategies.get(strategy.name, {}))


def checked_options(strategy: HasOptions, values: Mapping[str, Any]) -> StrategyOptions:
    """The strategy's options with these values, others by default.

    Raises:
        SettingsError: the strategy has no such option, or a value is not usable.
    """
    known = strategy.options.model_fields
    for name in values:
        if name not in known:
            raise SettingsError(
                f"strategies.{strategy.name}: there is no option {name[:_SHOWN]!r}", hint=_known_options(strategy)
            )
    try:
        return strategy.options(**values)
    except ValidationError as error:
        raise SettingsError(
            f"strategies.{strategy.name}.{problem(error, strategy.options)}", hint=_known_options(strategy)
        ) from error


def _known_options(strategy: HasOptions) -> str:
    told = [f"{name} ({values_in_words(field)})" for name, field in strategy.options.model_fields.items()]
    return (
        f"Options of {strategy.name}: {', '.join(told)}." if told else f"The strategy {strategy.name} has no options."
    )


def described(options: type[StrategyOptions]) -> Iterator[dict[str, Any]]:
    """Each option by name, with its default, what values it takes, and what it means."""
    for name, field in options.model_fields.items():
        yield {
            "name": name,
            "default": field.get_default(call_default_factory=True),
            "values": values_in_words(field),
            "description": field.description or "",
        }


def values_in_words(field: FieldInfo) -> str:
    """The values of an option in words, such as "whole number, 1 to 50, or none"."""
    limits = {
        name: getattr(rule, name)
        for rule in field.metadata
        for name in _BOUNDS
        if getattr(rule, name, None) is not None
    }
    if "ge" in limits and "le" in limits:
        bounds = f"{limits['ge']} to {limits['le']}"
    else:
        bounds = ", ".join(f"{_BOUNDS[name]} {limit}" for name, limit in limits.items())
    kinds = " or ".join(_kind(kind) for kind in _alternatives(field) if kind is not type(None))
    return ", ".join(filter(None, (kinds, bounds, "or none" if _optional(field) else "")))


def _kind(kind: Any) -> str:
    if get_origin(kind) is Literal:
        return ", ".join(map(str, get_args(kind)))
    return _KINDS.get(kind, getattr(kind, "__name__", str(kind)))


def _alternatives(field: FieldInfo) -> tuple[Any, ...]:
    kind = field.annotation
    return get_args(kind) if get_origin(kind) in (Union, types.UnionType) else (kind,)


def _optional(field: FieldInfo) -> bool:
    return type(None) in _alternatives(field)
