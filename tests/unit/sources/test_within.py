"""A part of a text index: how it is written, what is in it, and that every search keeps to it."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from contextlib import closing
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest
from support.fake_embedder import FakeEmbedder
from support.fake_parts import FakeSource
from support.homes import at_home
from support.read_files import zipped

from atomr_local.errors import InputError
from atomr_local.indexing import store
from atomr_local.indexing.text_index.documents import build_documents_index
from atomr_local.indexing.text_index.index import build_text_index
from atomr_local.sources import text
from atomr_local.sources.protocol import Pages, Request, SearchMode, Within
from atomr_local.sources.several_texts import SeveralTexts
from atomr_local.sources.text import TextSource
from atomr_local.sources.text_parts import PartOfTexts, parse_within, typed_conditions, typed_line
from atomr_local.system.cancellation import Cancellation

LIMIT = "The hotel limit is {} euros a night."
FILES = {
    "hr/travel.md": "---\ntitle: Travel policy\ntags: [policy, Travel/Abroad]\ndate: 2024-05-03\n---\n" + LIMIT.format(140),
    "hr/leave.md": "---\ntitle: Parental leave\ntags: policy\ndate: 10 January 2023\n---\n" + LIMIT.format(0),
    "hr/O'Brien (copy).md": "# Note\n\n" + LIMIT.format(99),
    "it/laptop.txt": LIMIT.format(900),
    "it/mail.eml": "From: a@example.org\nSubject: Leeds\nDate: Fri, 03 Jan 2020 10:00:00 +0100\n\n" + LIMIT.format(2),
    "hrx/other.txt": LIMIT.format(7),
}  # fmt: skip
ALL = set(FILES)


def build(folder: Path, name: str, vectors: Any = "now") -> Path:
    for path, content in FILES.items():
        file = folder / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(content)
        changed = datetime(2021, 6, 15, 12).timestamp()
        os.utime(file, (changed, changed))
    build_documents_index([folder], name, embedder=FakeEmbedder(), vectors=vectors)
    return store.index_path("text", name)


@pytest.fixture(scope="module", params=["now", "later"])
def source(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[TextSource]:
    """An index with vectors, and one built words first."""
    with (
        at_home(tmp_path_factory.mktemp("home")) as home,
        closing(TextSource(build(home / "docs", "docs", request.param), FakeEmbedder())) as opened,
    ):
        yield opened


def part(*given: str) -> Within:
    found = parse_within(given)
    assert found is not None
    return found


def files(source: Any, query: str, mode: SearchMode = "hybrid", top_k: int = 10, **fields: Any) -> list[str]:
    found = source.retrieve(Request(query, query, top_k=top_k, mode=mode, **fields), Cancellation())
    return [item.locator["file"] for item in found.evidence]


def test_tags_of_notes_of_all_kinds_are_conditions(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ATOMR_HOME", str(tmp_path / "home"))
    notes = {
        "obsidian.md": "The tap drips. #home/tap",
        "logseq.md": "tags:: home, [[to do]]\n\n- A tap of the kitchen leaks.",
        "Zim.txt": "Content-Type: text/x-zim-wiki\n\nThe tap drips. @home",
        "a.bear2bk": zipped({"Tap.textbundle/text.md": "# Tap\n\nThe tap drips. #home #to do#"}),
        "Tap 0f3c2a9e8d7b4c6a9e1f2d3c4b5a6978.md": "# Tap\n\nTags: home, to do\n\nThe tap drips.",
        "a.enex": "<en-export><note><tag>Home</tag><content>The tap drips.</content></note></en-export>",
        "none.md": "The tap drips.",
    }  # fmt: skip
    for name, content in notes.items():
        (tmp_path / name).write_bytes(content if isinstance(content, bytes) else content.encode())
    build_documents_index([tmp_path / name for name in notes], "notes", embedder=FakeEmbedder())
    with closing(TextSource(store.index_path("text", "notes"), FakeEmbedder())) as source:
        assert set(files(source, "tap", "words", within=part("#home"))) == set(notes) - {"none.md"}
        assert files(source, "tap", "words", within=part("#home/tap")) == ["obsidian.md"]
        assert set(files(source, "tap", "words", within=part("#to do"))) == {"logseq.md", "a.bear2bk", [*notes][4]}


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        (["hr"], {"hr/travel.md", "hr/leave.md", "hr/O'Brien (copy).md"}),
        (["./hr/"], {"hr/travel.md", "hr/leave.md", "hr/O'Brien (copy).md"}),
        (["hr/O'Brien (copy).md"], {"hr/O'Brien (copy).md"}),
        (["*.txt"], {"it/laptop.txt", "hrx/other.txt"}),
        (["[!h]*/*"], {"it/laptop.txt", "it/mail.eml"}),
        (["hr/travel.md", "it"], {"hr/travel.md", "it/laptop.txt", "it/mail.eml"}),
        (["."], ALL),
        (["#policy"], {"hr/travel.md", "hr/leave.md"}),
        (["#TRAVEL"], {"hr/travel.md"}),
        (["#travel/abroad"], {"hr/travel.md"}),
        (["after:2024-05"], {"hr/travel.md"}),
        (["after:2024-05-04"], set()),
        (["before:2021"], {"it/mail.eml"}),
        (["after:2021-06-15", "before:2021-06-16"], {"hr/O'Brien (copy).md", "it/laptop.txt", "hrx/other.txt"}),
        (["#policy", "after:2024"], {"hr/travel.md"}),
        (["#policy", "it"], set()),
        (["') OR 1=1 --"], set()),
        (["#' OR ''='"], set()),
    ],
)
def test_what_is_in_a_part_and_nothing_else_is_found(source: TextSource, given: list[str], expected: set[str]) -> None:
    within = part(*given)
    assert bool(source.part_missing(within)) is not bool(expected)
    assert set(files(source, "hotel limit", within=within)) == expected
    assert set(files(source, "hotel limit", "words", within=within)) == expected
    assert set(files(source, "hotel limit", "dense", within=within)) == expected
    assert set(files(source, "hotel limit", top_k=2, within=within)) <= expected


def test_a_path_on_this_machine_is_a_path_too(source: TextSource) -> None:
    root = store.read_manifest(source._directory).settings["folders"]["roots"][0]
    assert set(files(source, "hotel", within=part(f"{root}/it"))) == {"it/laptop.txt", "it/mail.eml"}


def test_of_very_many_the_part_is_picked_out_of_what_is_found(
    source: TextSource, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(text, "_MOST_NAMED", 0)
    monkeypatch.setattr(text, "CANDIDATES", 1)  # so that the first search does not reach the part
    for path in FILES:
        for mode in ("words", "hybrid", "dense"):
            assert files(source, "hotel limit", mode, within=part(path)) == [path]


@pytest.mark.parametrize(
    ("given", "told"),
    [
        (["hr/travl.md"], "hr/travel.md"),
        (["zzz"], "hr/"),
        (["#polizy"], "#policy, #travel/abroad"),
        (["before:1990"], "of 2020-01-03 to 2024-05-03"),
        (["#policy", "it"], "nothing fits all of them"),
    ],
)
def test_where_nothing_is_in_the_part_what_is_there_is_named(source: TextSource, given: list[str], told: str) -> None:
    with pytest.raises(InputError) as raised:
        PartOfTexts(source, part(*given))
    assert given[0] in raised.value.message
    assert told in raised.value.hint


def test_pages_keep_to_the_part(source: TextSource) -> None:
    in_hr = PartOfTexts(source, part("hr"))
    assert isinstance(in_hr, Pages) and not in_hr.pages_missing
    assert in_hr.page("Travel policy") is not None
    assert PartOfTexts(source, part("it")).page("Travel policy") is None
    assert source.page("Travel policy") is not None
    assert "Travel policy" in in_hr.similar_titles("travel", 5)
    assert "Travel policy" not in PartOfTexts(source, part("hr/leave.md")).similar_titles("travel", 5)
    in_hr.close()
    assert files(in_hr, "hotel"), "the whole stays open"


def test_passages_of_the_document_that_a_question_names_go_first(source: TextSource) -> None:
    for path, title in (("hr/travel.md", "travel policy"), ("hr/leave.md", "parental leave page")):
        assert files(source, f"In the {title}, what is the hotel limit?")[0] == path
        assert files(source, f"What is the hotel limit according to the {title}?", top_k=1) == [path]
        assert len(files(source, f"In the {title}, what is the hotel limit?")) == len(FILES), "the others follow"
    asked = "In the travel policy, what is the hotel limit?"
    assert "hr/travel.md" not in files(source, asked, within=part("it")), "what is asked for by hand counts"


def test_several_indexes_are_searched_in_the_part_of_each(tmp_path: Path) -> None:
    corpus = tmp_path / "corpus.jsonl"
    articles = [("Hotel [old]", "1", "#policy"), ("Hotels of Leeds", "2", ""), ("Inn", "3", "")]
    corpus.write_text(
        "\n".join(
            json.dumps({"id": number, "title": title, "text": LIMIT.format(number), "tags": [tag], "date": "2019-02"})
            for title, number, tag in articles
        )
    )
    build_text_index([corpus], "articles", embedder=FakeEmbedder())
    documents = TextSource(build(tmp_path / "docs", "docs"), FakeEmbedder())
    titles = TextSource(store.index_path("text", "articles"), FakeEmbedder())
    with closing(SeveralTexts({"docs": documents, "articles": titles})) as both:

        def found(*given: str, top_k: int = 10) -> set[str]:
            request = Request("hotel limit", "hotel limit", top_k=top_k)
            evidence = PartOfTexts(both, part(*given)).retrieve(request, Cancellation()).evidence
            return {item.locator.get("file", item.title) for item in evidence}

        assert found("hotels OF leeds") == {"Hotels of Leeds"}, "of an index of articles, a path is a title"
        assert found("Hotel [[]*") == {"Hotel [old]"}
        assert found("*of*", "it") == {"Hotels of Leeds", "it/laptop.txt", "it/mail.eml"}
        assert found("#policy") == {"Hotel [old]", "hr/travel.md", "hr/leave.md"}
        assert found("before:2020") == {title for title, *_ in articles}
        for given in ("zzz", "#zzz"):
            with pytest.raises(InputError, match="nothing in the text index"):
                found(given)


@pytest.mark.parametrize(
    ("given", "told"),
    [(["after:tomorrow"], "has no date"), (["before:"], "has no date"), (["hr", " "], "1 to 500"), (["x" * 501], "1 to 500"),
     (["x"] * 51, "50 times")],
)  # fmt: skip
def test_what_cannot_be_read_is_refused(given: list[str], told: str) -> None:
    with pytest.raises(InputError, match=told):
        parse_within(given)


def test_the_narrowest_of_several_dates_counts() -> None:
    within = part("after:2020", "after:2022-03", "before:2024", "before:2023-07-01")
    assert (within.after, within.before) == ((2022, 3, 1), (2023, 7, 1))
    assert parse_within(()) is None
    assert parse_within("hr") == part("hr"), "a text alone is one condition"


def test_a_typed_line_is_read_as_it_is_shown() -> None:
    given = ["hr/", "#policy", "my notes/a b.md", "after:2024-05"]
    assert typed_conditions(typed_line(given)) == given
    assert typed_conditions('  "" ') == []


def test_a_source_that_knows_no_parts_is_not_asked_whole_instead() -> None:
    with pytest.raises(InputError, match="cannot be asked in a part"):
        PartOfTexts(FakeSource("text", {}), part("hr"))
