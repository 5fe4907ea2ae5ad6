from __future__ import annotations

import json
from pathlib import Path

import pytest
from support.command_line import Atomr
from support.fake_embedder import FakeEmbedder
from support.starter_parts import embedder_directory

from atomr_local.indexing import store
from atomr_local.settings.schema import load_settings
from atomr_local.system import paths
from atomr_local.tui.screens.library.forms import library_items


@pytest.fixture
def corpus(tmp_path: Path) -> Path:
    file = tmp_path / "corpus.jsonl"
    rows = [
        {"id": "1", "title": "Lake Como", "text": "Lake Como is a deep lake in Lombardy."},
        {"id": "2", "title": "Radium", "text": "Radium is a chemical\x1b[2J element."},
    ]
    file.write_text("\n".join(json.dumps(row) for row in rows) + "\n{bro\x1bken\n")
    return file


@pytest.mark.slow
def test_build_then_search(corpus: Path, atomr: Atomr) -> None:
    embedder_directory()
    out, err = atomr("text", "build", str(corpus), "--name", "mine")
    assert out.startswith("mine: 2 passages of 2 articles, ")
    assert "1 line was skipped" in err
    assert f"{corpus}:3: " in err
    assert "\x1b" not in out + err

    out, err = atomr("text", "search", "chemistry", "-k", "1", "--json")
    (found,) = json.loads(out)
    assert (found["title"], found["locator"]["passage"]) == ("Radium", "2#0")
    assert set(found) == {"title", "text", "score", "locator"}
    assert err == ""

    out, err = atomr("text", "search", "deep lake", "--text-index", "mine")
    assert "Lake Como" in out.splitlines()[0]
    assert "\x1b" not in out
    assert out.count("\n") == 4

    assert atomr("text", "search", "?") == ("", "Nothing was found.\n")
    assert atomr("text", "search", "?", "--json") == ("[]\n", "")


def test_limit_and_replacing(fake_embedder: None, corpus: Path, atomr: Atomr) -> None:
    for limit in ("2", "1"):
        atomr("text", "build", str(corpus), "--name", "mine", "--limit", limit, "--format", "jsonl")
    assert store.read_manifest(store.index_path("text", "mine")).counts["articles"] == 1


def test_the_starter_is_built_on_first_search(
    fake_embedder: None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, corpus: Path, atomr: Atomr
) -> None:
    shipped = tmp_path / "shipped"
    shipped.mkdir()
    corpus.rename(shipped / "articles.jsonl")
    monkeypatch.setattr(paths, "starter_knowledge_dir", lambda: shipped)
    assert json.loads(atomr("text", "search", "lake", "--json", "-k", "1").out)[0]["title"] == "Lake Como"
    assert store.read_manifest(store.index_path("text", "starter")).counts["articles"] == 2


def error_of(err: str) -> tuple[str, str]:
    """Title with message, and hint: the only two lines."""
    lines = err.splitlines()
    assert len(lines) == 2, err
    assert lines[1].startswith("  → ")
    return lines[0], lines[1]


def test_errors_in_plain_words(atomr: Atomr, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    embedder_directory()
    story = tmp_path / "story.data"
    story.write_text("Once upon a time\n")
    message, hint = error_of(atomr.refused("text", "build", str(story), "--name", "mine"))
    assert message.startswith(f"Input not usable: {story}, line 1: ")
    assert "JSON lines" in hint

    assert (
        error_of(atomr.refused("text", "build", str(story), "--name", "../evil"))[0]
        == "Input not usable: '../evil' cannot name an index"
    )

    assert "'absent'" in error_of(atomr.refused("text", "search", "a", "--text-index", "absent"))[0]

    damaged = store.index_path("text", "damaged")
    damaged.mkdir(parents=True)
    assert "no finished index" in error_of(atomr.refused("text", "search", "a", "--text-index", "damaged"))[0]

    monkeypatch.setenv("ATOMR_EMBEDDER", str(tmp_path / "nowhere"))
    assert error_of(atomr.refused("text", "search", "a"))[0].startswith("Part missing: ")


def test_a_missing_input(fake_embedder: None, tmp_path: Path, atomr: Atomr) -> None:
    err = atomr("text", "build", str(tmp_path / "absent.jsonl"), "--name", "mine", status=1).err
    assert "absent.jsonl cannot be read: No such file" in err
    assert store.list_indexes() == []


@pytest.fixture
def fake_embedder(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("atomr_local.models.catalog.find.find_embedder", lambda _: Path())
    monkeypatch.setattr("atomr_local.indexing.embedding.embedder.SentenceEmbedder", lambda _, **__: FakeEmbedder())


def test_choose_add_and_remove(atomr: Atomr, fake_embedder: None, corpus: Path, tmp_path: Path) -> None:
    titles = tmp_path / "titles.txt"
    titles.write_text("\ufefflake como\n\nAtlantis \x1b[2J\n", encoding="utf-8")
    out, err = atomr("text", "build", str(corpus), "--name", "mine", "--titles", str(titles), "--format", "jsonl")
    assert out.startswith("mine: 1 passage of 1 article, ")
    assert "1 title was not found: Atlantis" in err

    out, err = atomr("text", "build", str(corpus), "--name", "mine", "--add")
    first, second = out.splitlines()
    assert first.startswith("mine: 2 passages of 2 articles, ")
    assert second == "  1 articles are new, 0 were replaced, 1 were there already"

    out, err = atomr("text", "remove", "Radium", "Nobody", "--name", "mine")
    assert out.startswith("mine: 1 passage of 1 article, ")
    assert err == "1 title was not found: Nobody\n"
    assert (
        "nothing would be left"
        in error_of(atomr.refused("text", "remove", "--titles", str(titles), "--name", "mine"))[0]
    )
    assert atomr("text", "remove", "Nobody", "--name", "mine").out == ""


def test_a_file_of_titles_that_is_none(atomr: Atomr, fake_embedder: None, corpus: Path, tmp_path: Path) -> None:
    empty, binary = tmp_path / "empty.txt", tmp_path / "binary.txt"
    empty.write_text("\n \n")
    binary.write_bytes(b"\xff\xfe\x00")
    for file, problem in ((empty, "contains no title"), (binary, "not UTF-8"), (tmp_path / "absent", "No such file")):
        message, hint = error_of(atomr.refused("text", "build", str(corpus), "--name", "mine", "--titles", str(file)))
        assert problem in message
        assert "one title per line" in hint


def test_an_unfinished_build_goes_on_by_the_same_command(
    atomr: Atomr, fake_embedder: None, corpus: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr("atomr_local.indexing.text_index.table.PassageTable.index", full)
        err = atomr.refused("text", "build", str(corpus), "--name", "mine")
    assert "the disk is full" in err
    assert "run the same command again: it resumes" in err
    assert "text mine is half-built" in atomr("indexes", "list").err
    out, err = atomr("text", "build", str(corpus), "--name", "mine")
    assert out.startswith("mine: 2 passages of 2 articles, ")
    assert "Resuming an unfinished build after 2 passages." in err


def interrupt(*_: object, **__: object) -> None:
    raise KeyboardInterrupt


@pytest.mark.parametrize(
    ("kind", "place", "resumed"),
    [
        ("text", "text_index.table.PassageTable", "Resuming an unfinished build after 2 passages."),
        ("graph", "graph_index.names.writer.NamesWriter", "Resuming an unfinished build."),
    ],
)
def test_a_build_that_is_interrupted_tells_that_it_can_go_on(
    atomr: Atomr,
    fake_embedder: None,
    corpus: Path,
    monkeypatch: pytest.MonkeyPatch,
    kind: str,
    place: str,
    resumed: str,
) -> None:
    if kind == "graph":
        corpus.write_text('{"s": "Lake Como", "p": "country", "o": "Italy"}\n')
    with monkeypatch.context() as patch:
        patch.setattr("atomr_local.indexing.text_index.build.TextBuild.run", interrupt)
        patch.setattr("atomr_local.indexing.graph_index.build.GraphBuild.run", interrupt)
        told = atomr(kind, "build", str(corpus), "--name", "mine", status=130).err
    assert "to resume" not in told, "nothing was done yet"
    with monkeypatch.context() as patch:
        patch.setattr(f"atomr_local.indexing.{place}.index", interrupt)
        told = atomr(kind, "build", str(corpus), "--name", "mine", status=130).err
    assert "Run the same command again to resume" in told
    assert resumed in atomr(kind, "build", str(corpus), "--name", "mine").err


# Indexes built words first, several at once, and private ones.


@pytest.fixture
def corpora(tmp_path: Path) -> tuple[str, str]:
    embedder_directory()
    texts = {"wiki": "Lake Como is a deep lake in Lombardy.", "notes": "We rented a yellow boat on Lake Como."}
    for name, text in texts.items():
        (tmp_path / f"{name}.jsonl").write_text(json.dumps({"id": "1", "title": name.title(), "text": text}))
    return str(tmp_path / "wiki.jsonl"), str(tmp_path / "notes.jsonl")


@pytest.mark.slow
def test_words_first_then_vectors(atomr: Atomr, corpora: tuple[str, str]) -> None:
    wiki, notes = corpora
    err = atomr("text", "build", wiki, "--name", "wiki", "--vectors", "later").err
    assert "It answers at once; `atomr text embed wiki`" in err
    assert "words first: no vectors yet" in atomr("indexes", "list").out
    (item,) = [item for item in library_items(load_settings()) if item.name == "wiki"]
    assert item.fillable
    assert "words first" in item.details[1]
    told = atomr("doctor", status=None).out
    assert atomr.status in (0, 1) and "words first: no vectors yet (`atomr text embed wiki` makes them)" in told

    atomr("text", "build", notes, "--name", "notes")
    found = json.loads(
        atomr("text", "search", "who had a boat on Lake Como", "--text-index", "wiki,notes", "--json").out
    )
    assert (found[0]["title"], found[0]["locator"]["index"]) == ("Notes", "notes")
    assert "(notes: 1#0)" in atomr("text", "search", "boat", "--text-index", "wiki,notes").out
    listed = {item["name"]: item["vectors"] for item in json.loads(atomr("indexes", "list", "--json").out)}
    assert (listed["wiki"]["state"], listed["notes"]["state"]) == ("part", "all")

    assert atomr("text", "embed", "wiki").out == "wiki: all 1 passages have a vector\n"
    assert "vectors" not in store.read_manifest(store.index_path("text", "wiki")).settings
    assert "no text index named 'nothing'" in atomr("text", "embed", "nothing", status=1).err


@pytest.mark.slow
def test_private_indexes(atomr: Atomr, corpora: tuple[str, str]) -> None:
    atomr("text", "build", corpora[1], "--name", "notes")
    assert "no index named 'nothing'" in atomr("indexes", "private", "nothing", status=1).err
    atomr("indexes", "private", "notes")
    assert load_settings().privacy.indexes == "notes"
    assert "; private" in atomr("indexes", "list").out
    ask = ("ask", "Who rented a boat?", "--web", "--strategy", "rag", "--sources", "text", "--text-index", "notes")
    assert "the index notes is private, and web search is on" in atomr(*ask, status=1).err
    atomr("indexes", "private", "notes", "--off")
    assert load_settings().privacy.indexes == ""
