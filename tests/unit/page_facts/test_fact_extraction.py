"""Facts from passages: what both readers agree on is kept, everything else is not."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pytest

from atomr_local.errors import Cancelled
from atomr_local.indexing.embedding.span_reader import SpanVerdict
from atomr_local.page_facts.extraction import ModelReading, NearRelations, PassageFact, facts_of_page
from atomr_local.page_facts.passages import PagePassage
from atomr_local.page_facts.wordings import asked_relations
from atomr_local.reasoning.reading.answer_formats import Reading
from atomr_local.sources.protocol import Evidence
from atomr_local.system.cancellation import Cancellation

TEXT = "Leda covers about 468 square kilometres. Its capital is Vella."


class FakeJudge:
    """A span reader that finds what it is told, by question, with a probability."""

    def __init__(self, told: Mapping[str, tuple[str, float]]) -> None:
        self.told = told

    def judge(self, question: str, passages: Sequence[str], answers: Sequence[str]) -> SpanVerdict | None:
        del passages
        best, sure = self.told.get(question, ("", 0.0))
        return SpanVerdict(sure, tuple(sure if answer == best else 0.0 for answer in answers), best)


class FakeReader:
    """A model that reads what it is told, by question, and tells what it was asked."""

    def __init__(self, judge: FakeJudge, told: Mapping[str, str], sure: float = 0.9) -> None:
        self.judge, self.told, self.sure = judge, told, sure
        self.asked: list[str] = []

    def from_evidence(self, node_id: int | None, question: str, evidence: Sequence[Evidence]) -> Reading:
        del node_id
        self.asked.append(question)
        answer = self.told.get(question, "")
        if not answer:
            return Reading(confidence=self.sure)
        verdict = self.judge.judge(question, [item.text for item in evidence], [answer])
        return Reading((answer,), tuple(evidence), self.sure, verdict=verdict)


def reading(
    spans: Mapping[str, tuple[str, float]], told: Mapping[str, str] | None = None, *, sure: float = 0.8
) -> tuple[ModelReading, FakeReader]:
    judge = FakeJudge(spans)
    reader: Any = FakeReader(judge, {question: span for question, (span, _) in spans.items()} if told is None else told)

    def every_relation(texts: Sequence[str]) -> Any:
        """Vectors by which the relations of the spans are the nearest to any sentence."""
        return np.array([[1.0 if text in {q.replace("Leda", "it") for q in spans} else 0.5] for text in texts])

    return ModelReading(NearRelations(every_relation), judge, lambda _question: reader, sure), reader


def facts(model: ModelReading | None, text: str = TEXT, title: str = "Leda") -> list[PassageFact]:
    return list(facts_of_page(title, [PagePassage("p#0", title, text)], model, check=lambda: None))


def test_what_both_read_is_a_fact_with_its_sentence() -> None:
    model, _ = reading({"What is the capital of Leda?": ("Vella", 0.9)})
    [fact] = facts(model)
    assert (fact.relation, fact.value, fact.how, fact.sure) == ("capital", "Vella", "model", 0.9)
    assert fact.said == "Its capital is Vella."
    assert fact.to_dict()["stated"] == {"title": "Leda", "passage": "p#0", "said": "Its capital is Vella."}


def test_of_two_questions_with_one_answer_the_surer_is_kept() -> None:
    questions = {wording.relation: wording.asks("Leda") for wording in asked_relations()}
    value = "468 square kilometres"
    model, reader = reading({questions["length"]: (value, 0.85), questions["area"]: (value, 0.95)})
    assert [fact.relation for fact in facts(model)] == ["area"]
    assert reader.asked == [questions["area"]], "the model is not asked for what is not kept"


@pytest.mark.parametrize(
    ("span", "told", "sure"),
    [
        (("Vella", 0.7), "Vella", 0.9),  # the span reader is not sure
        (("Vella", 0.9), "", 0.9),  # the model declines
        (("Vella", 0.9), "Leda", 0.9),  # they read different words
        (("Vella", 0.9), "Rome", 0.9),  # what the model says does not stand in the passage
        (("Vella", 0.9), "Vella", 0.5),  # the model is not sure
    ],
)
def test_what_they_do_not_agree_on_is_no_fact(span: tuple[str, float], told: str, sure: float) -> None:
    model, reader = reading({"What is the capital of Leda?": span}, {"What is the capital of Leda?": told})
    reader.sure = sure
    assert facts(model) == []


@pytest.mark.parametrize("value", ["468 square kilometres", "vella", "Leda", "one two three four five six"])
def test_a_value_of_another_kind_is_no_fact(value: str) -> None:
    text = f"Leda: {value}."
    model, _ = reading({"What is the capital of Leda?": (value, 0.95)})
    assert facts(model, text) == []


def test_set_phrases_need_no_model_and_go_first() -> None:
    text = "The Lake is a 1950 film directed by Ann Lee."
    [director] = [fact for fact in facts(None, text, "The Lake") if fact.relation == "director"]
    assert (director.value, director.how, director.sure) == ("Ann Lee", "phrase", None)
    assert "sure" not in director.to_dict()
    model, reader = reading({"Who directed The Lake?": ("Bob Poe", 0.99)})
    assert [f.value for f in facts(model, text, "The Lake") if f.relation == "director"] == ["Ann Lee"]
    assert reader.asked == []


@pytest.mark.parametrize(
    "text", ["Leda is large. Bob Poe ruled from Vella.", "The king of Roma lives in Vella, far from Leda."]
)
def test_a_sentence_about_something_else_tells_nothing(text: str) -> None:
    model, reader = reading({"What is the capital of Leda?": ("Vella", 0.95)})
    passages = [PagePassage("p#0", "Leda", "Leda is a country."), PagePassage("p#1", "Leda", text)]
    assert list(facts_of_page("Leda", passages, model, check=lambda: None)) == []
    assert reader.asked, "it was read, and not kept"


def test_a_value_that_is_known_is_not_told_as_another_relation() -> None:
    text = "The Lake is a novel by Ann Lee. It was a success."
    model, reader = reading({"Who published The Lake?": ("Ann Lee", 0.95)})
    assert [fact.relation for fact in facts(model, text, "The Lake")] == ["author"]
    assert reader.asked == []


@pytest.mark.parametrize("title", ["", "x", "Ann\x1b[31m", "a" * 200])
def test_a_page_without_a_usable_name_has_no_facts(title: str) -> None:
    assert facts(None, "It is a film directed by Ann Lee.", title) == []


@pytest.mark.parametrize(
    ("text", "relation"),
    [
        ("Leda is an American pop band. It broke up.", "country of origin"),
        ("Leda is an American singer. She lives in York.", "country of citizenship"),
        ("Leda (born 3 May 1901) is an American singer.", "country of citizenship"),
    ],
)
def test_only_a_person_is_a_citizen(text: str, relation: str) -> None:
    assert {fact.relation for fact in facts(None, text) if fact.value == "American"} == {relation}


def test_a_qualifier_of_the_title_becomes_an_alias() -> None:
    [fact, *_] = facts(None, "Hamlet is a 1948 film directed by Laurence Lee.", "Hamlet (1948 film)")
    assert fact.to_dict()["s_aliases"] == ["Hamlet"]


def test_reading_can_be_cancelled() -> None:
    cancellation = Cancellation()
    cancellation.cancel()
    model, _ = reading({"What is the capital of Leda?": ("Vella", 0.9)})
    with pytest.raises(Cancelled):
        list(facts_of_page("Leda", [PagePassage("p#0", "Leda", TEXT)], model, check=cancellation.check))
