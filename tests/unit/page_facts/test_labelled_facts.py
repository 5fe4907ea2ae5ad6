"""Facts of front matter, tables and lists: what is kept, whose it is, and what is left out."""

from __future__ import annotations

import json
from collections import Counter
from contextlib import closing
from pathlib import Path

import pytest
from support.fake_embedder import FakeEmbedder
from support.graph_world import Asker

from atomr_local.cli.main import main
from atomr_local.indexing.store import index_path
from atomr_local.indexing.text_index.documents import build_documents_index
from atomr_local.page_facts.extraction import facts_of_page, labelled_facts, relation_of
from atomr_local.page_facts.passages import PagePassage
from atomr_local.sources.graph import GraphSource
from atomr_local.tree.nodes import Operator

Told = set[tuple[str, str, str]]


def told(text: str, title: str = "Elm Bridge", *, section: str = "", metadata: str = "") -> tuple[Told, Counter[str]]:
    left_out: Counter[str] = Counter()
    passage = PagePassage("p#0", title, text, section=section, metadata=metadata)
    return {(one.subject, one.relation, one.value) for one in labelled_facts(title, [passage], left_out)}, left_out


@pytest.mark.parametrize(
    ("label", "value", "relation"),
    [
        ("Born", "3 May 1901", "date of birth"),
        ("born", "Leeds", "place of birth"),
        ("Population", "12,400", "population"),
        ("Population", "many people", None),
        ("Director", "Ann Lee", "director"),
        ("Director", "1950", None),
        ("Engine driver", "Ann Lee", "engine driver"),  # a property of its own
        ("Type", "Arch bridge", "type"),  # no "instance of", and no record label
        ("Label", "Blue", "label"),
        ("Architect", "unknown", None),
        ("Has been seen by", "Ann Lee", None),
        ("Name of the one who wrote this down at last", "Ann Lee", None),
    ],
)
def test_a_label_stands_for_a_property_with_values_of_its_kind(label: str, value: str, relation: str | None) -> None:
    assert relation_of(label, value) == relation


@pytest.mark.parametrize(
    ("text", "expected", "without_subject"),
    [
        (
            "Name: Elm Bridge; Architect: Ann Lee; Length: 40 m\nName: Oak Bridge; Architect: Bo Poe; Length: 55 m",
            [
                "Elm Bridge | architect | Ann Lee",
                "Elm Bridge | length | 40 m",
                "Oak Bridge | architect | Bo Poe",
                "Oak Bridge | length | 55 m",
            ],
            0,
        ),
        # behind numbers the second column names
        (
            "No: 1; Town: Leeds; Country: England\nNo: 2; Town: Paris; Country: France",
            ["Leeds | no | 1", "Leeds | country | England", "Paris | no | 2", "Paris | country | France"],
            0,
        ),
        # rows that name the same, or nothing
        (
            "Street: Elm Street; Architect: Ann Lee\nStreet: Elm Street; Architect: Bo Poe\nStreet: Oak Road; Architect: Cy Day",
            ["Oak Road | architect | Cy Day"],
            2,
        ),
        ("Year: 1950; Population: 12\nYear: 1951; Population: 14", [], 2),
        # a semicolon within a value
        (
            "Name: Ann; Lee; Employer: Mill; Son\nName: Bo; Employer: Forge",
            ["Ann; Lee | employer | Mill; Son", "Bo | employer | Forge"],
            0,
        ),
        # a single row and prose are no table
        ("Name: Elm Bridge; Architect: Ann Lee", [], 0),
        ("Note: it rained; Warning: it will rain.\nThe bridge: a report; the end.", [], 0),
        # a list at the beginning is about the page
        (
            "A painter.\n\n- **Born**: 3 May 1901\n- Died: 1950\n- Mood: changing every hour of the day\n\nMore.",
            [
                "The page | date of birth | 3 May 1901",
                "The page | date of death | 1950",
                "The page | mood | changing every hour of the day",
            ],
            0,
        ),
    ],
)
def test_rows_and_lists_are_about_what_they_name(text: str, expected: list[str], without_subject: int) -> None:
    found, left_out = told(text, "The page")
    assert sorted(" | ".join(one) for one in found) == sorted(expected)
    assert left_out["subject"] == without_subject


@pytest.mark.parametrize(
    "text",
    [
        "Ann: Hello there.\nBo: Good morning.",  # nothing in it is a well-known property
        "Born: 1901\n\nand then",  # one line is no list
        "Country: France\nCountry: Spain",  # of several things
        "name: value",
    ],
)
def test_other_lines_with_colons_are_no_facts(text: str) -> None:
    assert told(text, "Ann Lee")[0] == set()


def test_a_list_in_a_file_that_names_nothing_is_about_nothing() -> None:
    metadata = json.dumps({"file": "package/METADATA"})
    assert told("Country: France\nAuthor: Ann Lee", "METADATA", metadata=metadata)[0] == set()
    assert len(told("Country: France\nAuthor: Ann Lee", "Leda", metadata=metadata)[0]) == 2


def test_a_list_below_another_heading_is_not_about_the_page() -> None:
    text = "- Born: 1901\n- Died: 1950"
    assert told(text, "Ann Lee", section="His wife")[0] == set()
    assert len(told(text, "Ann Lee", section="Ann Lee")[0]) == 2


@pytest.mark.parametrize("metadata", ["", "{", "[]", '{"fields": 3}', '{"fields": {"born": 3}}', "[" * 100_000])
def test_broken_metadata_tells_nothing(metadata: str) -> None:
    assert told("A text.", metadata=metadata)[0] == set()


def test_values_that_are_no_values_are_counted() -> None:
    fields = {"capital": ["—", "x" * 200, "a\u202eb"], "born": ["somewhere in 1950 or later"], "has_seen": ["Rome"]}
    found, left_out = told("A text.", metadata=json.dumps({"fields": fields}))
    assert found == set()
    assert left_out == {"value": 4, "label": 1}


def test_hostile_text_is_read_in_no_time() -> None:
    for text in ("a: " * 5_000, "a: b; " * 5_000, ("**" + "a" * 39) * 500, "\n".join(["a: b; c: d"] * 20_000)):
        told(text)


def test_labels_go_before_set_phrases_and_are_told_with_their_passage() -> None:
    passages = [
        PagePassage(
            "p#0", "The Lake", "- Director: Bo Poe\n- Country: France\n\nThe Lake is a film directed by Ann Lee."
        ),
        PagePassage("p#1", "The Lake", "Role: Ferry; Performer: Cy Day\nRole: Boat; Performer: Di Fox", section="Cast"),
    ]
    facts = [fact.to_dict() for fact in facts_of_page("The Lake", passages, check=lambda: None)]
    assert [fact["o"] for fact in facts if fact["p"] == "director"] == ["Bo Poe"]
    [ferry] = [fact for fact in facts if fact["s"] == "Ferry"]
    assert (ferry["p"], ferry["p_id"], ferry["o"], ferry["how"]) == ("performer", "P175", "Cy Day", "labelled")
    assert ferry["stated"] == {"title": "The Lake", "passage": "p#1", "said": "Role: Ferry; Performer: Cy Day"}


def test_a_graph_of_a_folder_answers_from_tables_and_front_matter(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    pytest.importorskip("yaml")
    folder = tmp_path / "notes"
    folder.mkdir()
    (folder / "leda.md").write_text(
        "---\ntitle: Leda\nborn: 1950-05-03\nspouse: Bo Poe\ndraft: true\nrank: 3\ntags: [x]\n---\n\nShe keeps bees.\n"
    )
    (folder / "Vella.md").write_text("- Country: France\n- Population: 12,400\n\nA town.\n")
    (folder / "bridges.csv").write_text("Name,Architect,Opened\nElm Bridge,Ann Lee,1950\nOak Bridge,Bo Poe,1961\n")
    build_documents_index([folder], "notes", embedder=FakeEmbedder())
    with pytest.raises(SystemExit) as exited:
        main(["graph", "from-text", "notes"])
    out, _ = capsys.readouterr()
    assert not exited.value.code, out
    with closing(GraphSource.open(index_path("graph", "notes"))) as source:
        asker = Asker(source)
        [bridge] = asker.request(Operator.RELATE, "Elm Bridge", "architect").evidence
        [leda] = asker.request(Operator.RELATE, "Leda", "date of birth").evidence
        [vella] = asker.request(Operator.RELATE, "Vella", "population").evidence
    assert "Elm Bridge — architect: Ann Lee. Stated in “bridges”: Name: Elm Bridge; Architect: Ann Lee" in bridge.text
    assert "1950-05-03" in leda.text
    assert "population: 12,400" in vella.text
