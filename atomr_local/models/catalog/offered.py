"""The models offered for download (`models/catalog.toml`). Nothing here goes online."""

from __future__ import annotations

import tomllib
from functools import cache
from pathlib import Path
from typing import Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from atomr_local.errors import InputError
from atomr_local.system import paths

WikipediaKind = Literal["dump", "parquet"]
TEXT_LICENCE = "CC BY-SA 4.0"  # of Wikipedia's text
FACTS_LICENCE = "CC0"  # of Wikidata
DUMPS = "https://dumps.wikimedia.org"
DATA_HUB = "https://huggingface.co"  # of the data set wikimedia/wikipedia

# Two cores embed some 40 passages a second; a passage is some 600 bytes of text and takes some 3 kB of an index.
_PASSAGES_A_SECOND = 40
_PASSAGE_BYTES = 600
_INDEXED_BYTES = 3_000
_SLACK = 1.3  # how much more than its share is fetched for a number of articles: the first ones are longer
_FIRST_FILE = 700_000_000  # of a data set or dump in parts, at most; less cannot be fetched


class OfferedModel(BaseModel):
    """A model in the catalogue. `size` is approximate, in bytes."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    name: str = Field(pattern=r"^[a-z0-9][a-z0-9._-]{0,60}$")
    repository: str = Field(pattern=r"^[A-Za-z0-9._-]+/[A-Za-z0-9._-]+$")
    file: str = Field(pattern=r"^[A-Za-z0-9][A-Za-z0-9._-]*\.gguf$")
    licence: str
    parameters: str
    size: int = Field(gt=0)
    about: str

    def url(self, hub: str) -> str:
        """Where a hub serves the file; its answer has length and checksum."""
        return f"{hub.rstrip('/')}/{self.repository}/resolve/main/{self.file}"


class OfferedWikipedia(BaseModel):
    """A Wikipedia in the catalogue. Counts and sizes are approximate; `text`, `dump` and `parquet` are bytes."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    language: str
    name: str
    articles: int = Field(gt=0)
    text: int = Field(gt=0)
    dump: int = Field(gt=0)
    parquet: int = Field(gt=0)

    def download_bytes(self, kind: WikipediaKind, limit: int | None) -> int:
        """About how much is fetched for the first `limit` articles, or for all."""
        whole = self.dump if kind == "dump" else self.parquet
        if not limit or _SLACK * limit >= self.articles:
            return whole
        return max(round(whole * _SLACK * limit / self.articles), min(whole, _FIRST_FILE))

    def passages(self, limit: int | None) -> int:
        taken = min(limit or self.articles, self.articles)
        return max(1, round(self.text / self.articles * taken / _PASSAGE_BYTES))

    def index_bytes(self, limit: int | None) -> int:
        return self.passages(limit) * _INDEXED_BYTES

    def build_seconds(self, limit: int | None) -> float:
        """About how long two cores take to embed the passages."""
        return self.passages(limit) / _PASSAGES_A_SECOND


class Catalogue(BaseModel):
    """See `models/catalog.toml`."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    hub: str
    model: tuple[OfferedModel, ...] = ()
    wikipedia: tuple[OfferedWikipedia, ...] = ()


@cache
def _read(file: Path) -> Catalogue:
    try:
        return Catalogue.model_validate(tomllib.loads(file.read_text(encoding="utf-8")))
    except (OSError, ValueError, ValidationError) as error:
        reason = error.strerror if isinstance(error, OSError) else str(error)
        raise InputError(f"{file} cannot be used: {reason}", hint="Install atomr-local again.") from error


def catalogue() -> Catalogue:
    """The shipped catalogue.

    Raises:
        InputError: it is missing or damaged.
    """
    return _read(paths.catalogue_file())


def offered_model(name: str) -> OfferedModel:
    """The model of this name.

    Raises:
        InputError: none is offered under it; the hint lists those that are.
    """
    models = {item.name: item for item in catalogue().model}
    if name not in models:
        hint = f"Offered: {', '.join(models)}. The https:// address of a file works."
        raise InputError(f"no model {name!r} is offered", hint=hint)
    return models[name]
