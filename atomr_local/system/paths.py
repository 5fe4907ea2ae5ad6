"""Where atomr-local keeps its files.

`ATOMR_HOME`, when set, holds everything (settings, indexes, models, cache). Otherwise a source checkout
keeps indexes/ and models/ in itself, and an installed program uses the platform's user directories.
"""

from __future__ import annotations

import os
from pathlib import Path

import platformdirs

from atomr_local.errors import SettingsError

_PLATFORM = platformdirs.PlatformDirs("atomr-local", appauthor=False)
_LONGEST_SHOWN = 200
_PACKAGE = Path(__file__).resolve().parents[1]


def _home() -> Path | None:
    value = os.environ.get("ATOMR_HOME")
    try:
        return Path(value).expanduser().resolve() if value else None
    except (OSError, RuntimeError, ValueError) as error:  # a loop of links; a user who is not known; a NUL
        shown = value if value and len(value) <= _LONGEST_SHOWN else f"{(value or '')[:_LONGEST_SHOWN]}…"
        raise SettingsError(
            f"ATOMR_HOME, {shown}, cannot be used: {_reason(error)}",
            hint="Set it to a directory, or unset it.",
        ) from None


def _reason(error: Exception) -> str:
    if isinstance(error, OSError):
        return error.strerror or str(error)
    return "its links lead round in a loop" if "loop" in str(error) else str(error)


def checkout() -> Path | None:
    """The source checkout that this package runs from, or None when installed."""
    root = _PACKAGE.parent
    return root if (root / "pyproject.toml").is_file() and (root / "indexes").is_dir() else None


def data_dir() -> Path:
    return _home() or checkout() or _PLATFORM.user_data_path


def indexes_dir() -> Path:
    """Built indexes: `<indexes_dir>/text/<name>` and `<indexes_dir>/graph/<name>`."""
    return data_dir() / "indexes"


def models_dir() -> Path:
    return data_dir() / "models"


def skeletons_file() -> Path:
    """The user's own table of operator skeletons for `roht`, beside the models that it was made for."""
    return models_dir() / "skeletons.json"


def cache_dir() -> Path:
    home = _home()
    return home / "cache" if home else _PLATFORM.user_cache_path


def log_file() -> Path:
    """Where the program logs, in the directory for state that may be deleted at any time."""
    home = _home()
    return (home / "state" if home else _PLATFORM.user_state_path) / "atomr.log"


def examples_file() -> Path:
    """The user's own worked plans, beside the settings."""
    return config_file().with_name("examples.jsonl")


def processes_file() -> Path:
    """The solution processes that the user has kept, beside the examples."""
    return config_file().with_name("processes.jsonl")


def own_facts_file() -> Path:
    """The user's own facts that go before those of the pocket encyclopedia, beside the settings."""
    return config_file().with_name("facts.jsonl")


def config_file() -> Path:
    return (_home() or _PLATFORM.user_config_path) / "config.toml"


def _shipped(*parts: str) -> Path:
    """A file that ships with the program: in the checkout, or inside the installed package."""
    root = checkout()
    return (root if root else _PACKAGE / "_shipped").joinpath(*parts)


def starter_knowledge_dir() -> Path:
    """The pocket encyclopedia: what the starter's indexes are built of, as shipped."""
    return _shipped("indexes", "pocket")


def adapters_dir() -> Path:
    """The adapters that ship with the program."""
    return _shipped("models", "adapters")


def span_reader_file() -> Path:
    """The adapter that makes the starter's embedder read; its card lies beside it."""
    return _shipped("models", "span-reader", "all-minilm-l6-v2.safetensors")


def catalogue_file() -> Path:
    """The list of downloads that the program offers; it ships with the program."""
    return _shipped("models", "catalog.toml")


def downloads_dir() -> Path:
    """The fetched files that indexes are built of."""
    return data_dir() / "downloads"
