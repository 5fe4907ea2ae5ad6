"""The tables of data beside the readers."""

from __future__ import annotations

import tomllib
from functools import cache
from importlib.resources import files
from typing import Any


@cache
def known(name: str) -> dict[str, Any]:
    """A table of data by its path from here, such as "documents/markup.toml"."""
    return tomllib.loads(files("atomr_local.indexing.readers").joinpath(name).read_text(encoding="utf-8"))
