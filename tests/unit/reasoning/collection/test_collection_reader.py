"""Questions about all documents together, over a real index of a small folder."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import date
from pathlib import Path

import pytest
from support.fake_embedder import FakeEmbedder
from support.fake_parts import FakeBackbone, toolbox
from support.small_collection import FILES, build

from atomr_local.errors import Cancelled
from atomr_local.reasoning import collection as reader
from atomr_local.reasoning.collection import CollectionReader
from atomr_local.reasoning.results import Result
from atomr_local.reasoning.source_access import SourceAccess
from atomr_local.reasoning.trace.events import PlanReady
from atomr_local.reasoning.trace.recorder import Recorder
from atomr_local.reasoning.trace.schema import Trace
from atomr_local.reasoning.verdict.judge import conclusion, judge
from atomr_local.sources.document_places import place_words
from atomr_local.sources.protocol import Collection, HasCollection
from atomr_local.sources.several_texts import SeveralTexts
from atomr_local.sources.text import TextSource
from atomr_local.sources.text_parts import PartOfTexts, parse_within
from atomr_local.strategies.atomr import AtomR
from atomr_local.system.cancellation import Cancellation
from atomr_local.tree.nodes import Node, Tree

TODAY = date(2024, 5, 8)


@pytest.fixture(scope="module")
def directory(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    home = tmp_path_factory.mktemp("home")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("ATOMR_HOME", str(home))
        yield build(home / "docs")


@pytest.fixture(scope="module")
def source(directory: Path) -> Iterator[TextSource]:
    source = TextSource(directory, FakeEmbedder())
    yield source
    source.close()


def ask(source: HasCollection, question: str, allowed: frozenset[str] | None = None) -> Result | None:
    recorder = Recorder(question, "atomr", {}, lambda _event: None)
    recorder.emit(PlanReady(tree=Tree(Node(0, question)), compact=question, origin="rule", attempts=0))
    offer = source.collection()
    assert offer is not None
    access = SourceAccess("text", offer, recorder, Cancellation(), {} if allowed is None else {0: allowed})
    return CollectionReader(access, lambda: TODAY).answer(0, question)


@pytest.mark.parametrize(
    ("question", "answers", "rule"),
    [
        ("How many notes mention honey?", ["2"], "2 of 5 files in notes contain “honey”."),
        ("How many files mention bees?", ["2"], "2 of 12 files contain “bees” or “bee”."),
        ("How many files mention zebra?", ["0"], "None of 12 files contains “zebra”."),
        ("which files mention the word café?", ["notes/2023-11-05 walk.md"], "1 of 12 files contains “café”"),
        ("which notes mention 'health and safety'", ["notes/2023-11-05 walk.md"], "contains “health and safety”"),
        ("which files mention honey and bees", ["notes/bees.md"], "contains “honey” and “bees” or “bee”"),
        ("Which files mention train or swarms?", ["expenses.csv", "invoices/002.txt", "notes/bees.md", "notes/travel.md"], "“train”"),
        ("which files mention that", ["notes/bees.md"], "“that”"),  # the full-text index does not know the word
        ("Which files are about travel?", ["notes/list.md", "notes/travel.md"], "in title, heading or path, or at least 5 times"),
        ("list the reports about the mill", ["reports/mill report.txt", "reports/new mill report.txt"], "“mill”"),
        ("which files are about swarms?", ["notes/bees.md"], "heading"),
        ("List the invoices from March", ["invoices/001.txt"], "2024-03-01 to 2024-03-31"),
        ("Which files were edited in 2021?", [], "None of 12 files"),
        ("the latest report about the mill", ["reports/new mill report.txt"], "it states 2024-02-01 as “date”"),
        ("what is the oldest report", ["reports/mill report.txt"], "it states 2023-06-09 as “date of inspection”"),
        ("which note is the newest", ["notes/bees.md"], "it states 2024-05-02 as “date”"),
        ("the last walk note", ["notes/2023-11-05 walk.md"], "its name says 2023-11-05"),
        ("how many notes are tagged honey", ["1"], "1 of 5 files in notes is tagged “honey”."),
        ("How many emails mention the report?", ["1"], "1 of 1 file ending in .eml or .mbox contains “report”."),
        ("How many files are there?", ["12"], "There are 12 files."),
        ("How many files are in the reports folder?", ["2"], "There are 2 files in reports."),
        ("How many CSV files do I have?", ["2"], "There are 2 files ending in .csv."),
        ("total of the Amount column in expenses.csv", ["1042.5"], "over 2 rows, without 1 of totals; 1 has no value there"),
        ("What is the average price in expenses?", ["4"], "The average of “Price (EUR)” in expenses.csv is 4 over 3 rows"),
        ("what is the sum of the amount column?", [], "2 columns match: “Amount” in budget.csv, “Amount” in expenses.csv."),
        ("total of amount in budget.csv", [], "“n/a” in it is no number"),
        ("total of cost in expenses.csv", [], "No column of expenses.csv is called “cost”."),
        ("average amount in lost.csv", [], "No table is called “lost.csv”; there are: budget.csv, expenses.csv."),
        ("How many files are in the budget folder?", [], "No folder is called “budget”; there are: invoices, notes, reports."),
        ("Which files mention honey but not bees?", [], "do not hold a word"),
    ],
)  # fmt: skip
def test_the_answer_is_right_and_tells_its_rule(
    source: TextSource, question: str, answers: list[str], rule: str
) -> None:
    result = ask(source, question)
    assert result is not None
    assert list(result.texts) == answers
    assert rule in (result.computation or result.reason)
    assert result.outcome == "computed"


@pytest.mark.parametrize(
    "question",
    [
        "How many contracts do I have?",  # nothing is called so
        "How many PDFs mention honey?",
        "which notes have colour red",  # no document has such a label
        "Which law firm takes invoices?",  # the words before the noun are in none of them
        "What reports mention zebras?",
        "the average honey of bees in general",
        "How many hens may I keep?",
    ],
)
def test_what_names_no_documents_of_the_index_is_left(source: TextSource, question: str) -> None:
    assert ask(source, question) is None


def test_the_evidence_is_the_place_in_each_file(source: TextSource) -> None:
    result = ask(source, "Which notes mention honey?")
    assert result is not None
    assert [(place_words(item.locator), item.text) for item in result.evidence] == [
        ("notes/bees.md, line 9", "A bee makes honey."),
        ("notes/wasps.md, line 3", "Wasps make no honey."),
    ]
    assert result.cited == [item.id for item in result.evidence]
    for item in result.evidence:
        begin, end = item.locator["span"]
        assert end - begin == len(item.text)


def test_more_files_than_the_limit_are_counted(source: TextSource, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reader, "MOST_LISTED", 3)
    result = ask(source, "What is in this collection?")
    assert result is not None
    assert len(result.values) == 3
    assert "and 9 more." in (result.computation or "")
    assert result.dropped == ["9 of 12 are not listed (limit 3)"]
    assert result.evidence[0].text.endswith("and 9 more")


def test_a_source_that_the_step_may_not_use_is_not_asked(source: TextSource) -> None:
    assert ask(source, "How many files are there?", frozenset({"graph"})) is None


def test_reading_can_be_cancelled(source: TextSource) -> None:
    question = "How many files mention honey?"
    cancellation = Cancellation()
    offer = source.collection()
    assert offer is not None
    access: SourceAccess[Collection] = SourceAccess(
        "text", offer, Recorder(question, "atomr", {}, lambda _event: None), cancellation, {}
    )
    cancellation.cancel()
    with pytest.raises(Cancelled):
        CollectionReader(access).takes(question)


def test_documents_of_several_indexes_are_counted_together(source: TextSource, directory: Path) -> None:
    other = TextSource(directory, FakeEmbedder())
    several = SeveralTexts({"one": source, "two": other})
    result = ask(several, "Which files mention honey and bees?")
    assert result is not None
    assert result.texts == ("one/notes/bees.md", "two/notes/bees.md")
    assert "2 of 24 files" in (result.computation or "")
    assert [item.locator["index"] for item in result.evidence] == ["one", "two"]
    assert {item.locator["passage"] for item in result.evidence} == {"notes/bees.md#0"}
    other.close()


@pytest.mark.parametrize(
    ("conditions", "question", "answers", "rule"),
    [
        (["notes"], "How many files mention honey?", ["2"], "2 of 5 files in the part notes contain “honey”."),
        (["*.csv"], "List the files", ["expenses.csv", "budget.csv"], "There are 2 files in the part *.csv"),
        (["#garden"], "which files mention honey?", ["notes/bees.md"], "1 of 1 file in the part #garden"),
        (["reports/m*", "after:2022"], "the latest report", ["reports/mill report.txt"], "in the part"),
        (["budget.csv"], "total of the Price column", None, ""),
        (["reports"], "How many files are in the notes folder?", [], "No folder is called “notes”"),
    ],
)
def test_a_question_asked_in_a_part_is_about_that_part(
    source: TextSource, conditions: list[str], question: str, answers: list[str] | None, rule: str
) -> None:
    within = parse_within(conditions)
    assert within is not None
    result = ask(PartOfTexts(source, within), question)
    if answers is None:
        assert result is None
        return
    assert result is not None
    assert sorted(result.texts) == sorted(answers)
    assert rule in (result.computation or result.reason)
    of_part = source.collection(within)
    assert of_part is not None
    assert {str(item.locator.get("file")) for item in result.evidence} <= {one.file for one in of_part.documents()}


def run(source: TextSource, question: str, **settings: object) -> Trace:
    backbone = FakeBackbone()  # it has no reply: a call of the model would fail
    tools = toolbox(question, backbone, source, **settings)  # type: ignore[arg-type]
    AtomR().run(question, None, "model", tools)
    trace = tools.recorder.trace
    assert backbone.asked == []
    tools.recorder.emit(conclusion(trace, judge(trace, accept=0.5)))
    return trace


def test_the_whole_answer_needs_no_model_and_says_the_rule(source: TextSource) -> None:
    trace = run(source, "How many notes mention honey?")
    assert (trace.plan.origin, trace.status, trace.answers) == ("rule", "answered", ["2"])
    assert trace.answer == "2 of 5 files in notes contain “honey”."
    [node] = trace.nodes
    assert (node.method, node.outcome, node.cited, node.sources) == ("computed", "computed", ["e1", "e2"], ["text"])


def test_what_cannot_be_told_is_declined_without_advice_to_look_elsewhere(source: TextSource) -> None:
    trace = run(source, "total of the amount column")
    assert (trace.status, trace.answers, trace.guess) == ("unknown", [], None)
    assert (
        trace.reason
        == "2 columns match: “Amount” in budget.csv, “Amount” in expenses.csv. Name the file and the column."
    )
    assert trace.advice == []


def test_the_fixture_holds_what_the_tests_count() -> None:
    assert len(FILES) == 12


def test_an_index_of_articles_is_no_collection(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from atomr_local.indexing import store
    from atomr_local.indexing.text_index.index import build_text_index

    monkeypatch.setenv("ATOMR_HOME", str(tmp_path))
    file = tmp_path / "corpus.jsonl"
    file.write_text('{"id": "1", "title": "Bees", "text": "Bees make honey."}\n')
    build_text_index([file], "articles", embedder=FakeEmbedder())
    source = TextSource(store.index_path("text", "articles"), FakeEmbedder())
    assert source.collection() is None
    source.close()
