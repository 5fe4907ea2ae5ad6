"""Which columns or keys of a record are an article's id, title and text."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from atomr_local.indexing.readers.base import Article, article_texts, encodable

_TITLE_WORDS = 8


@dataclass(frozen=True, slots=True)
class Columns:
    """Names of columns or keys, "" where the user gave none; in JSON "body.value" is the key "value" within "body"."""

    id: str = ""
    title: str = ""
    text: str = ""

    @property
    def given(self) -> bool:
        """Whether the user gave one."""
        return bool(self.id or self.title or self.text)

    def names(self) -> tuple[str, str, str]:
        """Where id, title and text are looked for."""
        return self.id or "id", self.title or "title", self.text or "text"

    def as_settings(self) -> dict[str, str]:
        """As the ledger and the manifest keep them."""
        return asdict(self)


def mapped_article(record: Mapping[str, Any], columns: Columns, path: Path, number: int, *, rows: bool) -> Article:
    """The article that a record holds. What is used of it for nothing else is metadata.

    An id that no column is named for is the place in the file where the records are `rows` or columns were given; a
    title that is missing there is the beginning of the text.

    Raises:
        ValueError: something is missing; the message says what, and which columns there are.
    """
    names = columns.names()
    identifier, title, text = (_value(record, name) for name in names)
    if rows or columns.given:
        if not columns.id and identifier in (None, ""):
            identifier = f"{path.name}:{number}"
        if not columns.title and not (isinstance(title, str) and title.strip()) and isinstance(text, str):
            title = " ".join(text.split()[:_TITLE_WORDS])
    if columns.title and isinstance(title, int | float) and not isinstance(title, bool):
        title = str(title)
    identifier, title, text = map(encodable, article_texts(identifier, title, text, names))
    used = {*columns.names(), "qid"}
    rest = {key: value for key, value in record.items() if key not in used}
    qid = record.get("qid")
    return Article(
        identifier, title, text, encodable(qid) if isinstance(qid, str) and qid else None, rest, record=number
    )


def _value(record: Mapping[str, Any], name: str) -> Any:
    if name in record:
        return record[name]
    found: Any = record
    for part in name.split("."):
        if not isinstance(found, Mapping):
            return None
        found = found.get(part)
    return found
