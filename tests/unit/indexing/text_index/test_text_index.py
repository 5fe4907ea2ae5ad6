from __future__ import annotations

import bz2
import gzip
import hashlib
import json
import time
from pathlib import Path

import pytest
from support.fake_embedder import DIMENSIONS, FakeEmbedder
from support.text_indexes import corpus, hidden, titles

from atomr_local.errors import Cancelled, InputError, KnowledgeIndexError
from atomr_local.indexing import store
from atomr_local.indexing.builds.publishing import list_unfinished
from atomr_local.indexing.readers.articles import Columns
from atomr_local.indexing.readers.detect import ReadOptions
from atomr_local.indexing.text_index import build as text_build
from atomr_local.indexing.text_index import index as text_index
from atomr_local.indexing.text_index.build import TextBuildProgress
from atomr_local.indexing.text_index.index import build_text_index
from atomr_local.indexing.text_index.table import TABLE, connect
from atomr_local.system import paths
from atomr_local.system.cancellation import Cancellation


def build(*files: Path, name: str = "mine", **options) -> store.Manifest:
    return build_text_index(files, name, embedder=FakeEmbedder(), **options)


def test_the_manifest_says_what_was_built_from_what(tmp_path: Path) -> None:
    file = corpus(tmp_path / "new.jsonl", "Como", "Garda")
    with file.open("ab") as stream:
        stream.write(b"\n{broken")
    manifest = build(file)
    assert manifest == store.read_manifest(store.index_path("text", "mine"))
    assert manifest.counts == {"articles": 2, "passages": 2}
    assert manifest.inputs == [
        store.InputFile(str(file), file.stat().st_size, hashlib.sha256(file.read_bytes()).hexdigest())
    ]
    assert manifest.settings["embedder"] == "fake:1"
    assert manifest.settings["dimensions"] == DIMENSIONS
    assert manifest.settings["skipped"]["count"] == 1
    assert manifest.settings["skipped"]["samples"][0][1] == 3
    assert manifest.bytes > 1000
    assert hidden() == []


def test_passages_point_into_their_article(tmp_path: Path) -> None:
    text = "First sentence here. " * 100
    file = tmp_path / "corpus.jsonl"
    file.write_text(json.dumps({"id": "a", "title": "Long", "text": text, "qid": "Q1", "source": "x"}))
    assert build(file).counts == {"articles": 1, "passages": 3}
    rows = connect(store.index_path("text", "mine")).open_table(TABLE).to_arrow().to_pylist()
    assert [row["id"] for row in rows] == ["a#0", "a#1", "a#2"]
    for row in rows:
        assert row["text"] == text[row["start"] : row["end"]]
        assert (row["article"], row["qid"], json.loads(row["metadata"])) == ("a", "Q1", {"source": "x"})


def test_several_inputs_a_limit_and_progress(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(text_build, "BATCH", 2)
    first = corpus(tmp_path / "new.jsonl", "A", "B", "C")
    second = tmp_path / "second.gz"
    second.write_bytes(gzip.compress(corpus(tmp_path / "plain", "D", "E").read_bytes()))
    states: list[TextBuildProgress] = []
    assert build(first, second, progress=states.append).counts["articles"] == 5
    assert titles() == ["A", "B", "C", "D", "E"]
    assert [state.stage for state in states] == ["embedding"] * 3 + ["indexing"]
    assert [state.done for state in states] == sorted(state.done for state in states)
    assert states[-1].done == states[-1].total == first.stat().st_size + second.stat().st_size
    assert build(first, second, limit=4).counts["articles"] == 4
    assert titles() == ["A", "B", "C", "D"]


def test_bad_names_and_inputs_change_nothing(tmp_path: Path) -> None:
    good = corpus(tmp_path / "old.jsonl", "Old")
    build(good)
    no_corpus = tmp_path / "story.txt"
    no_corpus.write_text("Once upon a time\n")
    for files in ((), (tmp_path / "absent",), (no_corpus,)):
        with pytest.raises(InputError):
            build(*files)
    with pytest.raises(InputError):
        build(good, name="../evil")
    assert titles() == ["Old"]
    assert hidden() == []


@pytest.mark.parametrize(
    ("stage", "error"),
    [("embedding", RuntimeError), ("embedding", KeyboardInterrupt), ("embedding", Cancelled), ("indexing", Cancelled)],
)
def test_a_build_that_is_stopped_leaves_the_old_index_and_can_be_repeated(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, stage: str, error: type[BaseException]
) -> None:
    monkeypatch.setattr(text_build, "BATCH", 1)
    build(corpus(tmp_path / "old.jsonl", "Old"))
    cancellation = Cancellation()

    def progress(state: TextBuildProgress) -> None:
        if (state.stage, state.passages) == (stage, 2 if stage == "embedding" else state.passages):
            cancellation.cancel()
            if error is not Cancelled:
                raise error

    file = corpus(tmp_path / "new.jsonl", "A", "B", "C")
    with pytest.raises(error):
        build(file, progress=progress, cancellation=cancellation)
    assert titles() == ["Old"]
    assert hidden() == [".mine.building"]
    assert build(file).counts == {"articles": 3, "passages": 3}
    assert titles() == ["A", "B", "C"]
    assert hidden() == []


def test_a_failing_store_is_told_plainly(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    class FakeEmbedderOfWrongSize(FakeEmbedder):
        def encode(self, texts):
            return super().encode(texts)[:, :3]

    file = corpus(tmp_path / "new.jsonl", "A")
    with pytest.raises(KnowledgeIndexError, match="cannot be written"):
        build_text_index([file], "mine", embedder=FakeEmbedderOfWrongSize())
    (paths.indexes_dir() / "text" / "mine").parent.mkdir(parents=True, exist_ok=True)
    with monkeypatch.context() as patch:
        patch.setattr(text_index.publishing, "publish", lambda *_: (_ for _ in ()).throw(OSError("a bad disk")))
        with pytest.raises(KnowledgeIndexError, match="a bad disk"):
            build(file)
    assert build(file).counts["articles"] == 1
    assert hidden() == []


def test_hostile_articles_are_stored_as_they_are(tmp_path: Path) -> None:
    file = tmp_path / "corpus.jsonl"
    rows = [
        {"id": "../../x", "title": "\x1b[2J", "text": "\x00 nul", "metadata": {"deep": [[[]]]}},
        {"id": "'; DROP TABLE passages; --", "title": "é😀", "text": "x" * 300_000},
    ]
    file.write_text("\n".join(json.dumps(row) for row in rows))
    started = time.process_time()  # not of the clock: what else the machine does costs nothing
    assert build(file).counts["articles"] == 2
    assert time.process_time() - started < 30
    assert set(titles()) == {"\x1b[2J", "é😀"}


# Inputs of which a part cannot be used.

PAGE = "<page><title>{0}</title><ns>0</ns><id>{0}</id><revision><text>Page {0} is here.</text></revision></page>\n"
DUMP = "<mediawiki>\n" + "".join(PAGE.format(n) for n in range(1, 400)) + "</mediawiki>"


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
