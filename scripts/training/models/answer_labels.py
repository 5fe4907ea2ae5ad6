"""Questions with the type of their answer: labels from properties, from answers, and from our own questions."""

from __future__ import annotations

import csv
import itertools
import json
import re
from collections import Counter, defaultdict
from collections.abc import Iterator
from pathlib import Path

from atomr_local.language.literals import parse_date, parse_quantity
from atomr_local.language.names import base_key
from atomr_local.language.properties import property_table
from atomr_local.language.words import number_words
from training.files import QUESTIONS, STARTER, language_forms, read_lines
from training.splits import held_back_articles

VERBS = r"(?:is|are|was|were|do|does|did|has|have|had|can|could|will|would|should)"


class Types:
    """What we know of properties and of names: the sources of weak labels."""

    def __init__(self, data: Path) -> None:
        known = {item.id: item for item in property_table().by_iri.values()}
        forms = language_forms()
        kinds = forms["kinds"]
        self.of_property: dict[str, str] = {pid: kinds[item.kind] for pid, item in known.items() if item.kind in kinds}
        self.of_property.update((pid, kind) for kind, pids in forms["values"].items() for pid in pids)
        self.of_head: dict[str, str] = {pid: kind for kind, pids in forms["heads"].items() for pid in pids}
        self.of_wording: dict[str, str] = {}
        for pid, item in known.items():
            for wording in (item.label, *item.names):
                if pid in self.of_property:
                    self.of_wording.setdefault(wording.casefold(), self.of_property[pid])
        self.names: dict[str, set[str]] = defaultdict(set)
        self._spelling: dict[str, set[str]] = defaultdict(set)
        heads: dict[str, str] = {
            "date of birth": "person",
            "place of birth": "person",
            "director": "work",
            "spouse": "person",
        }
        facts = [(r["s"], r["p"], r["o"]) for r in read_lines(data / "kg/2wiki_train_triples.jsonl")]
        facts += [(r["s"], r["p"], r["o"]) for r in read_lines(STARTER / "facts.jsonl.gz")]
        facts += [
            tuple(fact)
            for r in read_lines(data / "qa/2wiki_train500_questions.jsonl")
            for fact in r["evidences"]
            if len(fact) == 3
        ]
        for subject, prop, value in facts:
            kind = self.of_wording.get(prop)
            if kind in ("person", "place", "country", "organisation", "work"):
                self._know(value, kind)
            if prop in heads:
                self._know(subject, heads[prop])
        self.first_names = Counter(name.split()[0] for name in self._spelling["person"] if 1 < len(name.split()) < 4)

    def _know(self, name: str, kind: str) -> None:
        self.names[base_key(name)].add(kind)
        self._spelling[kind].add(name)

    def all_of(self, kind: str) -> list[str]:
        return sorted(self._spelling[kind])

    def of_answer(self, question: str, answers: list[str]) -> str | None:
        """The type that the answer's form tells, or None where it does not."""
        text = answers[0].replace("\xa0", " ").strip(" .\"'") if answers else ""
        asked = question.casefold()
        year_asked = re.search(r"\byears?\b", asked) is not None
        how = re.search(r"\bhow (?:many|much|long|old|tall|high|far|big|large|fast|deep|wide|heavy|often)\b", asked)
        if not text:
            return None
        if text.casefold() in ("yes", "no", "true", "false"):
            return "yes/no"
        if re.match(r"why\b|how (?:do|does|did|is|was|are|were|can)\b", asked) and len(text.split()) > 1:
            return "phrase"
        if parse_date(text, bare_year=False) is not None and not how:
            return "year" if year_asked and "date" not in asked else "date"
        if re.fullmatch(r"1\d{3}|20[0-2]\d", text) and not how:
            return "year" if year_asked else "date" if re.search(r"\bwhen\b|\bdate\b", asked) else None
        quantity = parse_quantity(text)
        if quantity is not None or text.casefold() in number_words().numbers:
            if how and how[0] in ("how many", "how often"):
                return "number"
            if how:
                return "quantity"
            return "quantity" if quantity is not None and quantity.unit else "number" if "number" in asked else None
        if how and re.search(r"\d|" + "|".join(number_words().numbers), text.casefold()):
            return "number" if how[0] == "how many" else "quantity"
        kinds = self.names.get(base_key(text), set())
        if len(kinds) == 1:
            return next(iter(kinds))
        words = text.split()
        if 1 < len(words) < 5 and self.first_names[words[0]] > 1 and all(word[0].isupper() for word in words):
            return "person"
        if (
            re.match(r"(?:who|whose|whom)\b", asked)
            and 1 < len(words) < 4
            and all(word[:1].isupper() for word in words)
        ):
            return "person"
        if re.match(r"where\b", asked) and words[0][:1].isupper():
            return "place"
        if text.islower() and len(words) > 4 and re.match(r"(?:what|how|why)\b", asked):
            return "phrase"
        return None


def refined(kind: str | None, question: str) -> str | None:
    """A date is a year where the question says so; a quantity a number where it counts; a place may be a country."""
    asked = question.casefold()
    if kind in ("place", "country"):
        named = re.search(
            r"\b(?:what|which) (?:\w+ )?(?:country|countries|nation)\b|\bnationality\b|\bcitizenship\b", asked
        )
        return "country" if named or (kind == "country" and "country" in asked) else "place"
    if kind == "date" and re.search(r"\b(?:what|which|the) year\b|\byear of\b", asked):
        return "year"
    if kind == "quantity" and re.search(r"\bhow many (?:people|inhabitants)|population", asked):
        return "number"
    return kind


def collected(data: Path, types: Types) -> Iterator[tuple[str, str, str, bool]]:
    """(question, type, set, whether it is to be held back)."""
    squad = read_lines(data / "reading/squad2_part.jsonl")
    shut = held_back_articles(squad)
    for row in squad:
        kind = types.of_answer(row["question"], row["answers"] or row["near_misses"])
        if kind:
            yield row["question"].strip(), kind, "SQuAD", row["title"] in shut
    for i, row in enumerate(read_lines(data / "queries/nq_open_dev.jsonl")):
        kind = types.of_answer(row["question"], row["answers"])
        if kind:
            yield row["question"], kind, "NQ", i % 5 == 0  # the questions labelled by hand are of these
    for name in ("train", "valid"):
        with (data / f"decomposition/simplequestions_wikidata_{name}.tsv").open(encoding="utf-8") as stream:
            for _, prop, _, question in csv.reader(stream, delimiter="\t", quoting=csv.QUOTE_NONE):
                pid = f"P{prop[1:]}"
                kind = types.of_property.get(pid) if prop[0] == "P" else types.of_head.get(pid)
                if kind:
                    yield question, refined(kind, question) or kind, "SimpleQuestions", name == "valid"
    for name in ("RuBQ_2.0_dev", "rubq_1.0_test"):
        for i, row in enumerate(json.loads((data / f"decomposition/{name}.json").read_text(encoding="utf-8"))):
            props = row.get("question_props") or []
            if len(props) == 1 and re.fullmatch(
                r"SELECT \?answer\s+WHERE \{\s*wd:Q\d+ wdt:P\d+ \?answer\s*\}", row["query"] or ""
            ):
                kind = refined(types.of_property.get(props[0].removeprefix("wdt:")), row["question_eng"])
                if kind:
                    yield row["question_eng"], kind, "RuBQ", i % 5 == 0
    for i, row in enumerate(read_lines(data / "qa/2wiki_train500_questions.jsonl")):
        if row["answers"][0] in ("yes", "no"):
            yield row["question"], "yes/no", "2Wiki", i % 5 == 0
        elif row["type"] in ("compositional", "inference") and row["evidences"]:
            kind = refined(types.of_wording.get(row["evidences"][-1][1]), row["question"])
            if kind and row["type"] == "compositional":
                yield row["question"], kind, "2Wiki", i % 5 == 0
        elif kind := types.of_answer(row["question"], row["answers"]):
            yield row["question"], kind, "2Wiki", i % 5 == 0
    for i, row in enumerate(read_lines(data / "qa/musique_train100_questions.jsonl")):
        for step in row["decomposition"]:
            head, told, prop = step["question"].partition(" >> ")
            kind = types.of_wording.get(prop.casefold()) if told else types.of_answer(head, [step["answer"]])
            if kind and not told:
                yield re.sub(r"#\d", "Ann Lee", head), kind, "MuSiQue", i % 5 == 0
    for name in ("hotpot_train400", "hotpot_train100", "musique_train100"):
        for i, row in enumerate(read_lines(data / f"qa/{name}_questions.jsonl")):
            if kind := types.of_answer(row["question"], row["answers"]):
                yield row["question"], kind, "HotpotQA and MuSiQue", i % 5 == 0
    for i, row in enumerate(read_lines(data / "decomposition/strategyqa_train.jsonl")):
        yield row["question"], "yes/no", "StrategyQA", i % 5 == 0
    turns = read_lines(data / "dialogue/canard_dev.jsonl")
    for one, two in itertools.pairwise(turns):
        if one["dialog"] == two["dialog"] and len(two["history"]) == len(one["history"]) + 2:
            kind = types.of_answer(one["rewrite"], [two["history"][-1]])
            first = one["rewrite"].split()[0].casefold()
            if re.fullmatch(VERBS, first) and " or " not in one["rewrite"]:
                kind = "yes/no"
            elif first in ("why", "how") and not re.match(
                r"how (?:many|much|long|old|tall|often)", one["rewrite"].casefold()
            ):
                kind = "phrase"
            if kind:
                yield one["rewrite"], kind, "CANARD", one["turn"] % 5 == 0
    for name in ("plans", "passages", "more"):
        for i, row in enumerate(read_lines(QUESTIONS / f"{name}.jsonl")):
            operation = row.get("operation") or (row.get("plan") or "").rsplit(" = ", 1)[-1]
            match = re.fullmatch(r'Relate\((?:"[^"]*"|\[\d+\]), "([^"]*)"\)', operation)
            kind = refined(types.of_wording.get(match[1].casefold()), row["question"]) if match else None
            answer = row.get("answer")
            kind = kind or (types.of_answer(row["question"], [answer]) if isinstance(answer, str) else None)
            if kind:
                yield row["question"], kind, "our own", i % 5 == 0


def natural(facts: Path | None) -> Iterator[tuple[str, str, bool, str]]:
    """(question, type, whether several are asked for, set) of our own natural questions; follow-ups as understood.

    Args:
        facts: what `natural_questions/build.py` writes, where at hand.
    """
    for name in ("conversational", "described", "lists", "unanswerable", "dialogues", "natural_dev"):
        for row in read_lines(QUESTIONS / f"{name}.jsonl"):
            for place, turn in enumerate(row.get("turns") or [row]):
                expects = turn.get("expects") or {"type": "nothing"}
                if expects["type"] not in ("nothing", "language"):
                    text = turn["understood"] if place else turn["question"]
                    group = name if name == "natural_dev" else "natural"
                    yield text, expects["type"], bool(expects.get("several")), group
    for row in read_lines(facts)[:6000] if facts else ():
        expects = row.get("expects")
        if expects and expects["type"] not in ("nothing", "language"):
            yield row["question"], expects["type"], bool(expects.get("several")), "facts"
