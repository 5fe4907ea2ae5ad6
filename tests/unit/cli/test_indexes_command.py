from __future__ import annotations

import json
from pathlib import Path

import pytest
from support.command_line import Atomr
from support.fake_embedder import FakeEmbedder
from support.processes import dead_process

from atomr_local.indexing import store
from atomr_local.indexing.builds import publishing
from atomr_local.indexing.builds.ledger import Ledger
from atomr_local.indexing.text_index.index import build_text_index


def publish(name: str, path: str = "/data/corpus.jsonl", **fields) -> None:
    with publishing.resumable("text", name) as scratch:
        (scratch / "passages.lance").write_bytes(b"x" * 2_500_000)
        inputs = [store.InputFile(path, 7, "0" * 64)]
        publishing.publish(scratch, store.Manifest("text", name, {"articles": 1, "passages": 2}, inputs, **fields))


def test_none_yet(atomr: Atomr) -> None:
    out, err = atomr("indexes", "list")
    assert out == ""
    assert "No index is built yet" in err
    assert json.loads(atomr("indexes", "list", "--json").out) == []


def test_from_what_when_how_large_whether_whole(atomr: Atomr) -> None:
    publish("mine", built_at="2026-01-02T03:04:05+00:00")
    store.index_path("graph", "broken").mkdir(parents=True)
    out, err = atomr("indexes", "list")
    whole, broken = out.splitlines()
    assert whole.split(maxsplit=2) == [
        "text", "mine", "1 articles, 2 passages; 2.5 MB; built 2026-01-02T03:04:05+00:00 from corpus.jsonl",
    ]  # fmt: skip
    assert broken.startswith("graph  broken               not usable: ")
    assert err == ""

    (store.index_path("text", "mine") / "passages.lance").unlink()
    assert "mine                 not usable: passages.lance is missing" in atomr("indexes", "list").out
    assert json.loads(atomr("indexes", "list", "--json").out)[0]["problem"] == "passages.lance is missing"

    whole_entry, broken_entry = json.loads(atomr("indexes", "list", "--json").out)
    assert whole_entry["manifest"]["counts"] == {"articles": 1, "passages": 2}
    assert whole_entry["path"] == str(store.index_path("text", "mine"))
    assert (broken_entry["manifest"], "no finished index" in broken_entry["problem"]) == (None, True)


def test_nothing_in_a_manifest_or_a_folders_name_drives_the_terminal(atomr: Atomr) -> None:
    publish("mine", path="/data/\x1b[2Jx\n\u202ey", built_at="\x1b]0;owned\x07now")
    (store.index_path("text", "mine").parent / "evil\x1b[31m").mkdir()
    for arguments in ((), ("--json",)):
        out, err = atomr("indexes", "list", *arguments)
        assert not {"\x1b", "\x07", "\u202e"} & set(out + err)


@pytest.mark.slow
def test_verify_tells_what_is_whole_and_what_is_not(tmp_path: Path, atomr: Atomr) -> None:
    assert "No index is built yet" in atomr("indexes", "verify").err
    corpus = tmp_path / "corpus.jsonl"
    corpus.write_text('{"id": "1", "title": "Como", "text": "A lake."}')
    build_text_index([corpus], "good", embedder=FakeEmbedder())
    out, err = atomr("indexes", "verify", "good")
    assert out.startswith("text   good                 OK: 1 articles, 1 passages; ")
    assert err == ""

    publish("ev", path="/data/\x1b[2Jx\n\u202ey")
    out, _ = atomr("indexes", "verify", status=1)
    bad, problem, hint, good = [line for line in out.splitlines() if "another embedder" not in line]
    assert bad.startswith("text   ev                   damaged: ")
    assert problem == "  - the passages are missing: there is no passages.lance"
    assert hint.startswith("  → Build it again: atomr text build ")
    assert " OK: " in good
    assert not {"\x1b", "\u202e"} & set(out)

    reports = json.loads(atomr("indexes", "verify", "--json", status=1).out)
    assert [(report["name"], report["state"]) for report in reports] == [("ev", "damaged"), ("good", "whole")]
    assert reports[0]["problems"] == ["the passages are missing: there is no passages.lance"]

    assert "no index named 'absent'" in atomr("indexes", "verify", "absent", status=1).err


def test_remove_frees_the_space_and_asks_first(atomr: Atomr) -> None:
    publish("mine")
    assert "--yes" in atomr("indexes", "remove", "text", "mine", status=2).err
    assert store.index_path("text", "mine").exists()
    out, err = atomr("indexes", "remove", "text", "mine", "--yes")
    assert out == "mine: removed, 2.5 MB freed\n"
    assert err == ""
    assert list(store.index_path("text", "mine").parent.iterdir()) == []
    assert "no text index named 'mine'" in atomr("indexes", "remove", "text", "mine", "--yes", status=1).err
    assert "cannot name an index" in atomr("indexes", "remove", "text", "../evil", "--yes", status=1).err


def test_small_indexes_are_not_told_as_nothing(tmp_path: Path, atomr: Atomr) -> None:
    corpus = tmp_path / "corpus.jsonl"
    corpus.write_text('{"id": "1", "title": "Como", "text": "A lake."}')
    build_text_index([corpus], "tiny", embedder=FakeEmbedder())
    for command in ("list", "verify"):
        assert " kB" in atomr("indexes", command).out.splitlines()[0]


def test_what_goes_on_and_what_does_not_is_told_alike(atomr: Atomr) -> None:
    store.index_path("text", "thinned").parent.mkdir(parents=True)
    for name, resumable in (("begun", True), ("thinned", False)):  # removing articles keeps no ledger
        scratch = publishing.unfinished_path("text", name)
        scratch.mkdir()
        (scratch / publishing.LOCK).touch()
        (scratch / "data").write_bytes(b"x" * 3000)
        if resumable:
            Ledger.open(scratch, "text", [], {}).commit({"articles": 3, "passages": 512})
            (scratch / "data").write_bytes(b"x" * 3000)
    out, told = atomr("indexes", "list")
    assert out == ""
    assert told.splitlines()[0] == "text begun is half-built."
    assert "text thinned is left over." in told
    verified, _ = atomr("indexes", "verify", status=1)
    explained = [line for line in verified.splitlines() if line.startswith("  ")]
    assert [line for line in told.splitlines() if line.startswith("  ")] == explained
    assert [line for line in explained if "no command can resume it" in line] == [explained[2]]
    assert [line for line in explained if "to resume" in line] == [explained[1]]


def test_an_index_that_was_set_aside_is_put_back(atomr: Atomr) -> None:
    publish("mine")
    place = store.index_path("text", "mine")
    place.rename(place.with_name(f".mine.old-{dead_process()}-abc"))
    assert "text mine is set aside." in atomr("indexes", "list").err
    assert atomr("indexes", "remove", "text", "mine", "--unfinished", "--yes").out == "mine: put back, 0 B freed\n"
    assert atomr("indexes", "list").out.startswith("text   mine ")
