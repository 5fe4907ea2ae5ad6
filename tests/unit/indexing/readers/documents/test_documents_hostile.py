"""Documents made to do harm: each is refused with its reason, or read as far as it goes, within the limits."""

from __future__ import annotations

import os
from collections.abc import Iterator
from io import BytesIO
from pathlib import Path
from typing import Any

import pytest
from support.read_files import zipped

from atomr_local.indexing.readers.documents import document as zip_limits
from atomr_local.indexing.readers.documents.document import UnreadableError
from atomr_local.indexing.readers.documents.folder import Folder
from atomr_local.indexing.readers.documents.process import DocumentParser, parse
from atomr_local.system.cancellation import Cancellation

_ENTITIES = "".join(f'<!ENTITY lol{i} "{f"&lol{i - 1};" * 10 if i else "lol"}">' for i in range(12))
_LAUGHS = f'<?xml version="1.0"?><!DOCTYPE lolz [{_ENTITIES}]><container>&lol11;</container>'


@pytest.fixture(scope="module")
def parser() -> Iterator[DocumentParser]:
    parser = DocumentParser(seconds=3)
    yield parser
    parser.close()


def read(parser: DocumentParser, file: Path) -> list[dict[str, Any]]:
    folder = Folder(file.parent)
    (found,) = [one for one in folder.files() if one.place == file]
    handle = folder.open(found)
    try:
        return parser.read(handle, file.name, Cancellation())
    finally:
        os.close(handle)


def test_a_zip_bomb_is_not_unpacked(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(zip_limits, "MOST_UNPACKED", 1 << 20)
    bomb = BytesIO(zipped({"word/document.xml": "x", "word/bomb": bytes(2 << 20)}))
    with pytest.raises(UnreadableError, match=r"unpacks to 2 MiB.*ZIP bomb"):
        list(parse(bomb, "a.docx"))


def test_entities_are_not_expanded() -> None:
    packed = zipped({"mimetype": "application/epub+zip", "META-INF/container.xml": _LAUGHS})
    with pytest.raises(UnreadableError, match="declares entities"):
        list(parse(BytesIO(packed), "a.epub"))


def test_a_page_names_no_other_file(tmp_path: Path) -> None:
    (tmp_path / "secret").write_text("the secret")
    page = f'<!DOCTYPE html [<!ENTITY x SYSTEM "file://{tmp_path}/secret">]><html><p>Before &x; after</p></html>'
    (document,) = parse(BytesIO(page.encode()), "a.html")
    assert "secret" not in document.text
    assert "after" in document.text


def test_a_file_that_takes_too_long_costs_that_file_only(parser: DocumentParser, tmp_path: Path) -> None:
    slow, good = tmp_path / "slow.md", tmp_path / "good.txt"
    slow.write_text("`" + "``".join("`" * i + "x" for i in range(4_000)))
    good.write_text("A good file.")
    hasty = DocumentParser(seconds=0.05, seconds_per_mib=0.0)
    try:
        with pytest.raises(UnreadableError, match="takes too long"):
            read(hasty, slow)
    finally:
        hasty.close()
    assert [document["text"] for document in read(parser, good)] == ["A good file."]


def test_deeply_nested_json_is_refused(parser: DocumentParser, tmp_path: Path) -> None:
    (tmp_path / "deep.ipynb").write_text('{"cells": ' + "[" * 100_000)
    with pytest.raises(UnreadableError, match="no notebook"):
        read(parser, tmp_path / "deep.ipynb")


def test_a_file_exchanged_for_a_link_is_not_followed(tmp_path: Path) -> None:
    (tmp_path / "in").mkdir()
    (tmp_path / "secret.txt").write_text("the secret")
    file = tmp_path / "in" / "a.txt"
    file.write_text("harmless")
    folder = Folder(tmp_path / "in")
    (found,) = folder.files()
    file.unlink()
    file.symlink_to(tmp_path / "secret.txt")
    with pytest.raises(UnreadableError, match="it is a link now"):
        folder.open(found)


def test_a_folder_exchanged_for_a_link_is_not_followed(tmp_path: Path) -> None:
    (tmp_path / "in" / "sub").mkdir(parents=True)
    (tmp_path / "other").mkdir()
    (tmp_path / "other" / "a.txt").write_text("the secret")
    (tmp_path / "in" / "sub" / "a.txt").write_text("harmless")
    folder = Folder(tmp_path / "in")
    (found,) = folder.files()
    (tmp_path / "in" / "sub").rename(tmp_path / "in" / ".gone")
    (tmp_path / "in" / "sub").symlink_to(tmp_path / "other")
    with pytest.raises(UnreadableError, match="no regular file of the folder"):
        folder.open(found)
