from __future__ import annotations

import bz2
import gzip
import json
from pathlib import Path

import pytest
from support.fake_embedder import FakeEmbedder

from atomr_local.errors import InputError
from atomr_local.indexing import store
from atomr_local.indexing.builds.publishing import list_unfinished
from atomr_local.indexing.readers.articles import Columns
from atomr_local.indexing.readers.detect import ReadOptions
from atomr_local.indexing.text_index import build as text_build
from atomr_local.indexing.text_index.index import build_text_index

PAGE = "<page><title>{0}</title><ns>0</ns><id>{0}</id><revision><text>Page {0} is here.</text></revision></page>\n"
DUMP = "<mediawiki>\n" + "".join(PAGE.format(n) for n in range(1, 400)) + "</mediawiki>"


def corpus(file: Path, *titles: str) -> Path:
    rows = [json.dumps({"id": title, "title": title, "text": f"{title} is here."}) for title in titles]
    file.write_text("\n".join(rows), encoding="utf-8")
    return file


def build(*files: Path, **options) -> store.Manifest:
    return build_text_index(files, "mine", embedder=FakeEmbedder(), **options)


def test_of_several_files_those_that_cannot_be_read_are_listed(tmp_path: Path) -> None:
    picture = tmp_path / "a.png"
    picture.write_bytes(b"\x89PNG\r\n\x1a\n" + bytes(99))
    prose = tmp_path / "b.txt"
    prose.write_text("neither this\nnor that", encoding="utf-8")
    manifest = build(picture, corpus(tmp_path / "c.jsonl", "Como"), prose, corpus(tmp_path / "d.jsonl", "Garda"))
    assert manifest.counts["articles"] == 2
    samples = manifest.settings["skipped"]["samples"]
    whole = [(Path(file).name, reason) for file, number, reason in samples if number == 0]
    assert [name for name, _ in whole] == ["a.png", "b.txt"]
    assert "a PNG image" in whole[0][1] and "not JSON" in whole[1][1]


def test_a_file_that_is_alone_or_none_that_can_be_read_is_an_error(tmp_path: Path) -> None:
    first, second = tmp_path / "a.png", tmp_path / "b.png"
    for file in (first, second):
        file.write_bytes(b"\x89PNG\r\n\x1a\n" + bytes(99))
    with pytest.raises(InputError, match="a PNG image"):
        build(first)
    with pytest.raises(InputError, match="a PNG image"):
        build(first, second)
    corpus(first, "Como")
    build(first)
    first.write_text("nothing", encoding="utf-8")
    second.write_text("nothing", encoding="utf-8")
    with pytest.raises(InputError):
        build(first, second)
    assert store.read_manifest(store.index_path("text", "mine")).counts["articles"] == 1, "the old index stays"


@pytest.mark.parametrize("packing", ["plain", "gzip", "bzip2"])
def test_a_dump_that_is_cut_off_is_salvaged(tmp_path: Path, packing: str) -> None:
    file = tmp_path / "dump.xml"
    data = DUMP.encode()
    packed = {"plain": bytes, "gzip": lambda data: gzip.compress(data, 0), "bzip2": bz2.compress}[packing](data)
    file.write_bytes(packed[: len(packed) * 3 // 4] if packing != "bzip2" else packed[:-10])
    if packing == "bzip2":  # one block, which gives nothing before it is whole
        file.write_bytes(bz2.compress(data) + packed[: len(packed) // 2])
        data += data
    with pytest.raises(InputError):
        build(file)
    other = corpus(tmp_path / "after.jsonl", "Como")
    manifest = build(file, other, options=ReadOptions(salvage=True))
    assert manifest.counts["articles"] > 200
    told = manifest.settings["skipped"]["samples"][-1]
    assert told[1] == 0 and "read up to there" in told[2]
    assert manifest.settings["salvage"] is True


@pytest.mark.parametrize("add", [False, True])
def test_an_input_that_cannot_be_used_to_its_end_leaves_no_unfinished_build(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, add: bool
) -> None:
    monkeypatch.setattr(text_build, "BATCH", 4)
    if add:
        build(corpus(tmp_path / "first.jsonl", "Como"))
    cut = tmp_path / "cut.xml.gz"
    packed = gzip.compress(DUMP.encode(), 0)
    cut.write_bytes(packed[: len(packed) * 3 // 4])
    begun: list[int] = []
    with pytest.raises(InputError, match="cut short"):
        build(cut, add=add, progress=lambda state: begun.append(state.passages))
    assert max(begun) > 100, "it had come so far"
    assert list_unfinished() == []
    assert len(store.list_indexes()) == add


def test_an_input_that_changes_while_it_is_read_leaves_no_unfinished_build(tmp_path: Path) -> None:
    file = corpus(tmp_path / "a.jsonl", "Como", "Garda")
    with pytest.raises(InputError, match="was changed while it was read"):
        build(file, progress=lambda _: corpus(file, "Como") and None)
    assert list_unfinished() == []


def test_a_whole_file_is_named_also_behind_many_lines(tmp_path: Path) -> None:
    lines = corpus(tmp_path / "a.jsonl", "Como")
    with lines.open("a", encoding="utf-8") as stream:
        stream.write("\nbroken" * 20)
    prose = tmp_path / "b.txt"
    prose.write_text("neither", encoding="utf-8")
    samples = build(lines, prose).settings["skipped"]["samples"]
    assert [Path(file).name for file, number, _ in samples if number == 0] == ["b.txt"]


def test_columns_stand_in_the_manifest(tmp_path: Path) -> None:
    file = tmp_path / "t.tsv"
    file.write_text("k\tbody\n1\tComo is a lake.\n", encoding="utf-8")
    with pytest.raises(InputError):
        build(file)
    manifest = build(file, options=ReadOptions(Columns(text="body")), format="csv")
    assert manifest.settings["columns"] == {"id": "", "title": "", "text": "body"}
