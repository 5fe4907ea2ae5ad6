from __future__ import annotations

import json
from pathlib import Path

import pytest
from support.command_line import Atomr
from support.fake_embedder import FakeEmbedder

from atomr_local.errors import MissingPartError
from atomr_local.indexing import store
from atomr_local.models.catalog.find import starter_embedder_path
from atomr_local.system import paths


@pytest.fixture
def embedder() -> None:
    try:
        starter_embedder_path()
    except MissingPartError as error:
        pytest.skip(f"no embedder: {error}")


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
def test_build_then_search(embedder: None, corpus: Path, atomr: Atomr) -> None:
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


def test_limit_and_replacing(embedder: None, corpus: Path, atomr: Atomr) -> None:
    for limit in ("2", "1"):
        atomr("text", "build", str(corpus), "--name", "mine", "--limit", limit, "--format", "jsonl")
    assert store.read_manifest(store.index_path("text", "mine")).counts["articles"] == 1


def test_the_starter_is_built_on_first_search(
    embedder: None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, corpus: Path, atomr: Atomr
) -> None:
    shipped = tmp_path / "shipped"
    shipped.mkdir()
    corpus.rename(shipped / "articles.jsonl")
    monkeypatch.setattr(paths, "starter_knowledge_dir", lambda: shipped)
    assert json.loads(atomr("text", "search", "lake", "--json", "-k", "1").out)[0]["title"] == "Lake Como"
    assert store.read_manifest(store.index_path("text", "starter")).counts["articles"] == 2


@pytest.mark.parametrize(
    "arguments",
    [
        ("build",),
        ("build", "file.jsonl"),
        ("build", "file.jsonl", "--name", "a", "--limit", "0"),
        ("build", "file.jsonl", "--name", "a", "--format", "pdf"),
        ("remove", "--name", "a"),
        ("remove", "Title"),
        ("search",),
        ("search", "a", "b"),
        ("search", "a", "-k", "0"),
        ("search", "a", "-k", "many"),
        ("search", "a", "--nonsense"),
        ("nonsense",),
    ],
)
def test_wrong_usage(arguments: tuple[str, ...], atomr: Atomr) -> None:
    out, err = atomr("text", *arguments, status=2)
    assert out == ""
    assert "Error: " in err


@pytest.mark.parametrize("arguments", [(), ("build",), ("search",), ("remove",)])
def test_help_has_an_example(arguments: tuple[str, ...], atomr: Atomr) -> None:
    assert "Example: atomr text " in atomr("text", *arguments, "--help").out


def error_of(err: str) -> tuple[str, str]:
    """Title with message, and hint: the only two lines."""
    lines = err.splitlines()
    assert len(lines) == 2, err
    assert lines[1].startswith("  → ")
    return lines[0], lines[1]


def test_errors_in_plain_words(atomr: Atomr, embedder: None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
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


def test_a_missing_input(embedder: None, tmp_path: Path, atomr: Atomr) -> None:
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


def test_a_build_that_is_interrupted_tells_that_it_can_go_on(
    atomr: Atomr, fake_embedder: None, corpus: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as patch:
        patch.setattr("atomr_local.indexing.text_index.build.TextBuild.run", interrupt)
        told = atomr("text", "build", str(corpus), "--name", "mine", status=130).err
    assert "to resume" not in told, "nothing was done yet"
    with monkeypatch.context() as patch:
        patch.setattr("atomr_local.indexing.text_index.table.PassageTable.index", interrupt)
        told = atomr("text", "build", str(corpus), "--name", "mine", status=130).err
    assert "Run the same command again to resume" in told
    assert "Resuming an unfinished build after 2 passages." in atomr("text", "build", str(corpus), "--name", "mine").err


def test_a_graph_build_that_is_interrupted_tells_that_it_can_go_on(
    atomr: Atomr, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    facts = tmp_path / "facts.jsonl"
    facts.write_text('{"s": "Lake Como", "p": "country", "o": "Italy"}\n')
    with monkeypatch.context() as patch:
        patch.setattr("atomr_local.indexing.graph_index.names.writer.NamesWriter.index", interrupt)
        told = atomr("graph", "build", str(facts), "--name", "mine", status=130).err
    assert "Run the same command again to resume" in told
    assert "Resuming an unfinished build." in atomr("graph", "build", str(facts), "--name", "mine").err
