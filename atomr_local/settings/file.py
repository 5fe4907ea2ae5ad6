"""Changes settings in the user's file and keeps everything else in it."""

from __future__ import annotations

import contextlib
import errno
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, get_origin

from pydantic import BaseModel, TypeAdapter, ValidationError
from pydantic_settings import BaseSettings, PydanticBaseSettingsSource

from atomr_local.errors import SettingsError
from atomr_local.settings.schema import (
    OLD_GROUPS,
    Settings,
    check_bounds,
    load_settings,
    parse_toml,
    problem,
    read_settings_text,
    renamed,
    renamed_key,
)
from atomr_local.system import paths
from atomr_local.system.credentials import Secret
from atomr_local.system.files import exclusive, put

if TYPE_CHECKING:
    from tomlkit import TOMLDocument


def changed_settings(settings: Settings, changes: Mapping[str, Any]) -> Settings:
    """`settings` with changes by top-level name, those of a group as a dictionary of what changes in it.

    A value of None takes the one of the file and the environment.

    Raises:
        SettingsError: a value is not usable; the message names its key.
    """
    return load_settings(**_merged(settings.model_dump(), renamed(changes)))


def _merged(values: Mapping[str, Any], changes: Mapping[str, Any]) -> dict[str, Any]:
    merged = dict(values)
    for name, value in changes.items():
        known = merged.get(name)
        if value is None:
            merged.pop(name, None)
        elif isinstance(value, Mapping) and isinstance(known, Mapping) and name in _groups():
            merged[name] = _merged(known, value)
        else:
            merged[name] = value
    return merged


def _groups() -> dict[str, type[BaseModel]]:
    """The settings that are groups of others."""
    return {
        name: kind
        for name, field in Settings.model_fields.items()
        if isinstance(kind := field.annotation, type) and issubclass(kind, BaseModel)
    }


def save_settings(changes: Mapping[str, Any]) -> Path:
    """Write settings to the settings file, by dotted key; None takes a key out, which brings its default back.

    Comments, order and every other value of the file stay. The file is checked as it would be read before it is
    replaced, so that a refused value changes nothing; it is replaced at once or not at all.

    Returns:
        The file.

    Raises:
        SettingsError: there is no such setting, a value is not usable, or the file cannot be read or written.
    """
    path = Settings.file or paths.config_file()
    with _alone(path):
        document = _read(path)
        for key, value in changes.items():
            _set(document, key, _plain(value))
        text = document.as_string()
        settings = _check(text, path)
        _write(path, text, secret=holds_secrets(settings))
    return path


def save_settings_text(text: str) -> Path:
    """Replace the settings file by this text, checked as it would be read.

    Returns:
        The file.

    Raises:
        SettingsError: the text is not TOML or has a value that is not usable, or the file cannot be written.
    """
    path = Settings.file or paths.config_file()
    with _alone(path):
        settings = _check(text, path)
        _write(path, text, secret=holds_secrets(settings))
    return path


def value_of(key: str, text: str) -> Any:
    """The value that a person means by a text: of the setting's type, as TOML has it, or the text itself.

    A list may be written with commas.

    Raises:
        SettingsError: there is no such setting.
    """
    kind = kind_of(key)
    if kind is str or (isinstance(kind, type) and issubclass(kind, Secret)):
        return text
    if kind in (bool, int, float):
        with contextlib.suppress(ValidationError):  # saving tells what is wrong with it
            return TypeAdapter(kind).validate_python(text)
        return text
    try:
        value = parse_toml(f"value = {text}", "the value")["value"]
    except SettingsError:
        value = text
    if isinstance(value, str) and get_origin(kind) in (tuple, list):
        return [part.strip() for part in value.split(",") if part.strip()]
    return value


def kind_of(key: str) -> Any:
    """The type of the setting, as it is annotated; None for an option of a strategy."""
    first, *rest = _parts(renamed_key(key))
    if first == "strategies":
        return None
    field = Settings.model_fields[first] if not rest else _groups()[first].model_fields[rest[0]]
    return field.annotation


@contextlib.contextmanager
def _alone(path: Path) -> Iterator[None]:
    """No other process saves settings meanwhile: what it had changed would be lost."""
    with contextlib.ExitStack() as held:
        with contextlib.suppress(OSError):  # where no lock can be made, writing fails too and reports it
            if path.is_file() or not path.exists():
                path.parent.mkdir(parents=True, exist_ok=True)
                held.enter_context(exclusive(path))
        yield


def holds_secrets(settings: Settings) -> bool:
    """Whether a key or password is among the settings."""
    return bool(settings.endpoint.api_key) or settings.endpoint.url.shown() != settings.endpoint.url.reveal()


def _read(path: Path) -> TOMLDocument:
    import tomlkit
    from tomlkit.exceptions import TOMLKitError

    text = read_settings_text(path)
    if text is None:
        return tomlkit.document()
    try:
        return tomlkit.parse(text)
    except (TOMLKitError, ValueError, RecursionError) as error:
        raise SettingsError(f"{path} is not valid TOML: {error}", hint="Correct the file or delete it.") from None


def _plain(value: Any) -> Any:
    """A value as TOML has it, secrets as they are: the file is where they are kept."""
    if isinstance(value, Secret):
        return value.reveal()
    if isinstance(value, BaseModel):
        return _plain(value.model_dump())
    if isinstance(value, Mapping):
        return {str(name): _plain(item) for name, item in value.items()}
    if isinstance(value, list | tuple | set | frozenset):
        return [_plain(item) for item in value]
    return str(value) if isinstance(value, Path) else value


def _set(document: TOMLDocument, key: str, value: Any) -> None:
    import tomlkit
    from tomlkit.exceptions import TOMLKitError

    *groups, name = _parts(renamed_key(key))
    _drop_old_name(document, groups, name)
    table: Any = document
    for group in groups:
        if group not in table:
            if value is None:
                return
            table[group] = tomlkit.table()
        table = table[group]
        if not isinstance(table, Mapping):
            raise SettingsError(
                f"{group} is not a group of settings in the file", hint="Correct the file or delete it."
            )
    if value is None:
        table.pop(name, None)
        return
    try:
        table[name] = value
    except (TOMLKitError, ValueError, TypeError) as error:
        raise SettingsError(f"{key}: such a value cannot be written to the settings file") from error


def _drop_old_name(document: TOMLDocument, groups: list[str], name: str) -> None:
    """Take the setting out of a group of an old name: what is saved now counts."""
    for old, new in OLD_GROUPS.items():
        former: Any = document.get(old)
        if groups[:1] == [new] and isinstance(former, Mapping) and name in former:
            former.pop(name)  # type: ignore[attr-defined]
            if not former:
                document.pop(old)


def _parts(key: str) -> list[str]:
    """A dotted key, checked: the setting, or its group and it, or one item of a setting that is a dictionary."""
    first, _, rest = key.partition(".")
    field = Settings.model_fields.get(first)
    group = _groups().get(first)
    if first == "strategies" and rest:
        strategy, _, option = rest.partition(".")
        if not (strategy and option):
            raise _unknown(key)
        return [first, strategy, option]
    if field is None or (rest and group is None) or (not rest and group is not None):
        raise _unknown(key)
    if group is None:
        return [first]
    name, _, item = rest.partition(".")
    inner = group.model_fields.get(name)
    if inner is None or (item and not str(inner.annotation).startswith("dict")):
        raise _unknown(key)
    return [first, name, item] if item else [first, name]


def _unknown(key: str) -> SettingsError:
    return SettingsError(f"there is no setting {key!r}", hint="`atomr config show` lists them.")


class _FileOnly(Settings):
    """The settings as the file alone gives them: what the environment says instead has nothing to do with the file."""

    @classmethod
    def settings_customise_sources(
        cls, settings_cls: type[BaseSettings], init_settings: PydanticBaseSettingsSource, *_: Any, **__: Any
    ) -> tuple[PydanticBaseSettingsSource, ...]:
        return (init_settings,)


def _check(text: str, path: Path) -> Settings:
    """Refuse a text that the program could not be started with. Gives the settings in it."""
    check_bounds(text, str(path))
    try:
        return _FileOnly(**renamed(parse_toml(text, f"{path} as it would be saved")))
    except ValidationError as error:
        raise SettingsError(problem(error, Settings), hint="Nothing was written.") from error


def _write(path: Path, text: str, *, secret: bool) -> None:
    """Replace the file at once; one that is a link stays a link. A file of secrets is nobody else's to read."""
    try:
        path = path.resolve()
        path.parent.mkdir(parents=True, exist_ok=True)
        if path.exists() and not path.is_file():
            raise OSError(errno.EINVAL, "it is not a regular file", str(path))
        if path.exists() and not path.stat().st_mode & 0o200:  # root may write to it all the same
            raise PermissionError(errno.EACCES, "it is read-only", str(path))
        put(path, text.encode("utf-8"), private=secret or not path.exists())
    except (OSError, RuntimeError) as error:  # RuntimeError: a loop of links
        raise SettingsError(
            f"{path} cannot be written: {getattr(error, 'strerror', None) or error}",
            hint="Make the file and its directory writable.",
        ) from error
