"""Changing settings: in force, and in the user's file with everything else in it left as it stands."""

from __future__ import annotations

import contextlib
import os
import tempfile
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pydantic import BaseModel, ValidationError
from pydantic_settings import BaseSettings, PydanticBaseSettingsSource

from atomr_local import paths
from atomr_local.errors import SettingsError
from atomr_local.settings import Settings, load_settings
from atomr_local.settings_problems import problem

if TYPE_CHECKING:
    from tomlkit import TOMLDocument


def changed_settings(settings: Settings, changes: Mapping[str, Any]) -> Settings:
    """`settings` with changes by top-level name, those of a group as a dictionary of what changes in it.

    A value of None takes the one of the file and the environment.

    Raises:
        SettingsError: a value is not usable; the message names its key.
    """
    return load_settings(**_merged(settings.model_dump(), changes))


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
    document = _read(path)
    for key, value in changes.items():
        _set(document, key, _plain(value))
    text = document.as_string()
    _check(text, path)
    _write(path, text)
    return path


def _read(path: Path) -> TOMLDocument:
    import tomlkit
    from tomlkit.exceptions import TOMLKitError

    try:
        return tomlkit.parse(path.read_bytes().decode("utf-8"))
    except FileNotFoundError:
        return tomlkit.document()
    except (TOMLKitError, UnicodeDecodeError) as error:
        raise SettingsError(f"{path} is not valid TOML: {error}", hint="Correct the file or delete it.") from error
    except OSError as error:
        raise SettingsError(f"{path} cannot be read: {error.strerror}") from error


def _plain(value: Any) -> Any:
    """A value as TOML has it."""
    if isinstance(value, BaseModel):
        return value.model_dump(mode="json")
    if isinstance(value, Mapping):
        return {str(name): _plain(item) for name, item in value.items()}
    if isinstance(value, list | tuple | set | frozenset):
        return [_plain(item) for item in value]
    return str(value) if isinstance(value, Path) else value


def _set(document: TOMLDocument, key: str, value: Any) -> None:
    import tomlkit
    from tomlkit.exceptions import TOMLKitError

    *groups, name = _parts(key)
    table: Any = document
    for group in groups:
        if group not in table:
            if value is None:
                return
            table[group] = tomlkit.table()
        table = table[group]
        if not isinstance(table, Mapping):
            raise SettingsError(f"{group} is no group of settings in the file", hint="Correct the file or delete it.")
    if value is None:
        table.pop(name, None)
        return
    try:
        table[name] = value
    except (TOMLKitError, ValueError, TypeError) as error:
        raise SettingsError(f"{key}: such a value cannot be written to the settings file") from error


def _parts(key: str) -> list[str]:
    """A dotted key, checked: the setting, or its group and it, or one item of a setting that is a dictionary."""
    first, _, rest = key.partition(".")
    field = Settings.model_fields.get(first)
    group = _groups().get(first)
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


def _check(text: str, path: Path) -> None:
    """Refuse a text that the program could not be started with."""
    try:
        _FileOnly(**tomllib.loads(text))
    except tomllib.TOMLDecodeError as error:
        raise SettingsError(f"{path} would not be valid TOML: {error}", hint="Nothing was written.") from error
    except ValidationError as error:
        raise SettingsError(problem(error, Settings), hint="Nothing was written.") from error


def _write(path: Path, text: str) -> None:
    """Replace the file at once; one that is a link stays a link. A file of secrets keeps its permissions."""
    path = path.resolve()
    name = None
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        mode = path.stat().st_mode & 0o777 if path.exists() else 0o600
        if not mode & 0o200 or (path.exists() and not os.access(path, os.W_OK)):
            raise PermissionError(13, "it is read-only", str(path))
        with tempfile.NamedTemporaryFile("w", encoding="utf-8", newline="", dir=path.parent, delete=False) as stream:
            name = Path(stream.name)
            stream.write(text)
            stream.flush()
            os.fsync(stream.fileno())
        name.chmod(mode)
        name.replace(path)
    except OSError as error:
        if name is not None:
            with contextlib.suppress(OSError):
                name.unlink(missing_ok=True)
        raise SettingsError(
            f"{path} cannot be written: {error.strerror or error}",
            hint="Make the file and its directory writable.",
        ) from error
