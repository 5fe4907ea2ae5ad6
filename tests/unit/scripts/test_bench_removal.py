"""The removal test: what is taken away, what is left out, and what the report says."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import question_sets as sets
import removal
from atomr_lab.evaluation.datasets import Question
from support.bench_runs import declined, told, write_run

from atomr_local.errors import InputError
from atomr_local.sources.protocol import Evidence, Request, Retrieval, SourceName, Value
from atomr_local.system.cancellation import Cancellation


class Source:
    """Finds what it is given."""

    def __init__(self, name: str, found: Retrieval) -> None:
        self.name, self._found = name, found

    def retrieve(self, request: Request, cancellation: Cancellation) -> Retrieval:
        return self._found

    def close(self) -> None: ...


def passage(title: str, text: str, source: str = SourceName.TEXT) -> Evidence:
    return Evidence(source, title, text, 1.0, "", {}, title)


def retrieved(found: Retrieval, answers: tuple[str, ...], *pages: str) -> tuple[Retrieval, int]:
    filtered = removal.Without(Source(found.evidence[0].source, found))
    filtered.answers, filtered.pages = answers, frozenset(map(removal.base_key, pages))
    return filtered.retrieve(Request("q", "q", top_k=2), Cancellation()), filtered.taken


def test_pages_and_passages_with_the_answer_are_taken_away() -> None:
    found = Retrieval((
        passage("Emma (novel)", "A novel."), passage("Other", "Jane Austen wrote it."), passage("Third", "Nothing."),
        passage("Fourth", "Nothing."), passage("Fifth", "Nothing."),
    ))  # fmt: skip
    kept, taken = retrieved(found, ("Jane Austen",), "Emma (novel)")
    assert [item.title for item in kept.evidence] == ["Third", "Fourth"], "made up for, to as many as were asked for"
    assert taken == 2
    kept, taken = retrieved(found, ("Jane Austen",))
    assert [item.title for item in kept.evidence] == ["Emma (novel)", "Third"] and taken == 1
    kept, taken = retrieved(found, ("Anne Brontë",))
    assert [item.title for item in kept.evidence] == ["Emma (novel)", "Other"] and taken == 0


def test_a_graph_answer_and_a_gold_entity_are_not_there() -> None:
    row = passage("Emma", "Emma: author Jane Austen.", SourceName.GRAPH)
    found = Retrieval((row,), (Value("Jane Austen"),), link_score=0.9, relation_score=0.8, linked=Value("Emma"))
    kept, taken = retrieved(found, ("Jane Austen",))
    assert (kept.values, kept.evidence, kept.link_score, taken > 0) == ((), (), 0.9, True)
    kept, taken = retrieved(found, (), "Emma")
    assert (kept.values, kept.evidence, kept.link_score, taken > 0) == ((), (), 0.0, True)
    kept, taken = retrieved(found, ("Ann",), "Persuasion")
    assert kept == found and taken == 0


@pytest.fixture
def questions(tmp_path: Path) -> Path:
    fields: list[dict[str, Any]] = [
        {"id": "a", "answers": ["Ann"], "gold_titles": ["Page"]},
        {"id": "b", "answers": ["Yes"], "gold_titles": ["Page"]},
        {"id": "c", "answers": ["Ann"]},
        {"id": "d", "answers": ["Ann"], "gold_titles": ["Page"], "answerable": False},
        {"id": "e", "answers": ["Ann, Bob"], "members": ["Ann", "Bob"], "gold_titles": ["Page"]},
        {"id": "f", "answers": ["2"], "gold_titles": ["Page", "Other"], "plan": '1. a? = Relate("Ann", "child")\n'
         "2. f? = Count([1])"},
    ]  # fmt: skip
    path = tmp_path / "questions.jsonl"
    path.write_text("".join(json.dumps({"question": f"{line['id']}?", **line}) + "\n" for line in fields))
    return path


def test_only_what_can_be_taken_away_is_asked(questions: Path, tmp_path: Path) -> None:
    a, e, f = removal.removable(questions, "page")
    assert [item.question.id for item in (a, e, f)] == ["a", "e", "f"]
    assert (a.answers, a.pages) == (("Ann",), frozenset({"page"}))
    assert e.answers == ("Ann", "Bob")
    assert (f.answers, len(f.pages)) == ((), 2), "no page holds a count"
    assert [(i.question.id, i.pages) for i in removal.removable(questions, "fact")] == [
        ("a", frozenset()), ("e", frozenset()),
    ]  # fmt: skip
    questions.write_text(json.dumps({"question": "x", "answers": ["y"], "gold_titles": ["z"], "plan": "1. = ="}) + "\n")
    with pytest.raises(InputError, match='"plan" cannot be read'):
        removal.removable(questions, "page")


def test_the_natural_development_questions_suffice_for_two_hundred(tmp_path: Path) -> None:
    counts = {
        asked.name: len(removal.removable(sets.prepared(asked, tmp_path / asked.name), "page"))
        for asked in sets.question_sets(None)
    }
    assert counts.pop("no-question") == 0
    assert min(counts.values()) >= 40 and sum(counts.values()) >= 200


def test_settings_are_named_on_the_command_line() -> None:
    asked = sets.QuestionSet("a", Path(), "texts")
    settings = removal.with_settings(asked, ["features.decline=false", "features.beam=false", "top_k=5"])
    assert (settings.features.decline, settings.features.beam, settings.features.rival, settings.top_k) == (
        False, False, True, 5,
    )  # fmt: skip
    assert (settings.sources, settings.text_index) == (("text",), "texts")
    with pytest.raises(InputError, match="is no setting"):
        removal.with_settings(asked, ["top_k"])


def test_the_report_tells_right_from_wrong_and_declined(tmp_path: Path) -> None:
    made = [
        told(0.9, right=True, gold=[], kind="single"), told(0.8, right=False, gold=[], kind="single"),
        declined(0.3, right=False, gold=[], kind="count", reason="No page says so."), told(0.7, right=False, gold=[]),
    ]  # fmt: skip
    out = write_run(tmp_path / "one", made)
    (out / "taken.jsonl").write_text('{"id": "q0", "taken": 0}\n{"id": "q0", "taken": 3}\n{"id": "q3", "taken": 0}\n')
    gold = [removal.Removable(Question(f"q{i}", f"Q{i}?", ("Ann",)), ("Ann",), frozenset()) for i in range(4)]
    found = removal.said(sets.QuestionSet("one", Path(), "texts"), gold, out)
    assert [(item.what, item.taken) for item in found] == [
        ("right", True), ("wrong", True), ("declined", True), ("wrong", False),
    ]  # fmt: skip
    text = removal.report(found)
    assert "| one | 3 | 33.3% [" in text
    assert "| single | 2 | 0.0% [0.0, 0.0] | 1 | 1 | 0.90 | 0.80 | – |" in text
    assert "| count | 1 | 100.0% [100.0, 100.0] | 0 | 0 | – | – | 0.30 |" in text
    assert "Of 1 further questions" in text
    assert "- wrong: Q1? → Eve (0.80); gold: Ann" in text and "- No page says so." in text
