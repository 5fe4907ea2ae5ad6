"""Learns `atomr_local/language/en/answer_types.json` and `several_answers.json`.

    python scripts/train_answer_types.py --data ../shared/data

Where the types come from: the property asked for (SimpleQuestions, RuBQ, 2WikiMultihopQA's last hop, our own plans),
the form of the answer (SQuAD 2.0, NQ-open, MuSiQue's steps, HotpotQA, CANARD: dates, numbers, units, names known from
facts), the set (StrategyQA: yes or no), and questions of our own by kind (`language_data/typed_*.txt`, `forms.toml`) in
the polite, clipped and turned-round forms that people use. Held back: a fifth of our own questions and of all others,
all of SQuAD's last five articles; and 110 questions of NQ-open typed by eye (`language_data/nq_by_hand.tsv`).
Our own natural questions (`training_questions`) tell when several answers are asked for; their development set is only
measured on.
"""

from __future__ import annotations

import argparse
import csv
import itertools
import json
import random
import re
import tomllib
from collections import Counter, defaultdict
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from linear_training import fit, tempered, write

from atomr_local.evaluation.declining import calibration_error
from atomr_local.indexing.literals import parse_date, parse_quantity
from atomr_local.indexing.names import base_key
from atomr_local.indexing.vocabulary import vocabulary
from atomr_local.language.answer_type import features
from atomr_local.language.numbers import number_words

HERE = Path(__file__).resolve().parent
EN = HERE.parent / "atomr_local/language/en"
FORMS: dict[str, Any] = tomllib.loads((HERE / "language_data/forms.toml").read_text(encoding="utf-8"))
TYPES = ("answer_types.json", "several_answers.json")
_VERBS = r"(?:is|are|was|were|do|does|did|has|have|had|can|could|will|would|should)"


def rows(path: Path) -> Iterator[dict[str, Any]]:
    with path.open(encoding="utf-8") as stream:
        for line in stream:
            yield json.loads(line)


def own_lines(name: str) -> list[str]:
    text = (HERE / "language_data" / name).read_text(encoding="utf-8")
    return [line for line in text.splitlines() if line.strip() and not line.startswith("# ")]


class Types:
    """What we know of properties and of names: the sources of weak labels."""

    def __init__(self, data: Path) -> None:
        known = {item.id: item for item in vocabulary().by_iri.values()}
        kinds = FORMS["kinds"]
        self.of_property: dict[str, str] = {pid: kinds[item.kind] for pid, item in known.items() if item.kind in kinds}
        self.of_property.update((pid, kind) for kind, pids in FORMS["values"].items() for pid in pids)
        self.of_head: dict[str, str] = {pid: kind for kind, pids in FORMS["heads"].items() for pid in pids}
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
        facts = [(r["s"], r["p"], r["o"]) for r in rows(data / "kg/2wiki_train_triples.jsonl")]
        facts += [(r["s"], r["p"], r["o"]) for r in rows(HERE.parent / "indexes/starter/facts.jsonl")]
        facts += [
            tuple(fact)
            for r in rows(data / "qa/2wiki_train500_questions.jsonl")
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
    squad = list(rows(data / "reading/squad2_part.jsonl"))
    shut = set(list(dict.fromkeys(row["title"] for row in squad))[-5:])
    for row in squad:
        kind = types.of_answer(row["question"], row["answers"] or row["near_misses"])
        if kind:
            yield row["question"].strip(), kind, "SQuAD", row["title"] in shut
    for i, row in enumerate(rows(data / "queries/nq_open_dev.jsonl")):
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
    for i, row in enumerate(rows(data / "qa/2wiki_train500_questions.jsonl")):
        if row["answers"][0] in ("yes", "no"):
            yield row["question"], "yes/no", "2Wiki", i % 5 == 0
        elif row["type"] in ("compositional", "inference") and row["evidences"]:
            kind = refined(types.of_wording.get(row["evidences"][-1][1]), row["question"])
            if kind and row["type"] == "compositional":
                yield row["question"], kind, "2Wiki", i % 5 == 0
        elif kind := types.of_answer(row["question"], row["answers"]):
            yield row["question"], kind, "2Wiki", i % 5 == 0
    for i, row in enumerate(rows(data / "qa/musique_train100_questions.jsonl")):
        for step in row["decomposition"]:
            head, told, prop = step["question"].partition(" >> ")
            kind = types.of_wording.get(prop.casefold()) if told else types.of_answer(head, [step["answer"]])
            if kind and not told:
                yield re.sub(r"#\d", "Ann Lee", head), kind, "MuSiQue", i % 5 == 0
    for name in ("hotpot_train400", "hotpot_train100", "musique_train100"):
        for i, row in enumerate(rows(data / f"qa/{name}_questions.jsonl")):
            if kind := types.of_answer(row["question"], row["answers"]):
                yield row["question"], kind, "HotpotQA and MuSiQue", i % 5 == 0
    for i, row in enumerate(rows(data / "decomposition/strategyqa_train.jsonl")):
        yield row["question"], "yes/no", "StrategyQA", i % 5 == 0
    turns = list(rows(data / "dialogue/canard_dev.jsonl"))
    for one, two in itertools.pairwise(turns):
        if one["dialog"] == two["dialog"] and len(two["history"]) == len(one["history"]) + 2:
            kind = types.of_answer(one["rewrite"], [two["history"][-1]])
            first = one["rewrite"].split()[0].casefold()
            if re.fullmatch(_VERBS, first) and " or " not in one["rewrite"]:
                kind = "yes/no"
            elif first in ("why", "how") and not re.match(
                r"how (?:many|much|long|old|tall|often)", one["rewrite"].casefold()
            ):
                kind = "phrase"
            if kind:
                yield one["rewrite"], kind, "CANARD", one["turn"] % 5 == 0
    for name in ("plans", "passages", "more"):
        for i, row in enumerate(rows(HERE / f"training_questions/{name}.jsonl")):
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
        for row in rows(HERE / f"training_questions/{name}.jsonl"):
            for place, turn in enumerate(row.get("turns") or [row]):
                expects = turn.get("expects") or {"type": "nothing"}
                if expects["type"] not in ("nothing", "language"):
                    text = turn["understood"] if place else turn["question"]
                    group = name if name == "natural_dev" else "natural"
                    yield text, expects["type"], bool(expects.get("several")), group
    for row in list(rows(facts))[:6000] if facts else ():
        expects = row.get("expects")
        if expects and expects["type"] not in ("nothing", "language"):
            yield row["question"], expects["type"], bool(expects.get("several")), "facts"


class Own:
    """Questions of our own, made from templates, nouns and frames."""

    def __init__(self, types: Types, random_: random.Random) -> None:
        self._random = random_
        works = types.all_of("work")
        self._names = {
            "p": types.all_of("person"),
            "w": works,
            "c": types.all_of("country") + types.all_of("place"),
            "x": works + types.all_of("organisation") + types.all_of("place"),
        }

    def filled(self, template: str, **given: str) -> str:
        def slot(match: re.Match[str]) -> str:
            if match[1] in given:
                return self.filled(given[match[1]])
            name = self._random.choice(self._names[match[1]])
            return name.split(" (")[0]

        return re.sub(r"\{(\w)\}", slot, template)

    def framed(self, question: str) -> str:
        return str(self._random.choice(FORMS["frames"])).replace("{q}", question)

    def typed(self) -> Iterator[tuple[str, str, bool, bool]]:
        """(question, type, several, held back): whole templates are held back."""
        for line in own_lines("typed_questions.txt"):
            label, template = line.split("\t")
            bare = template.startswith("= ")
            template = template.removeprefix("= ")
            several = label.endswith("*")
            kind = label.removesuffix("*")
            held = self._random.random() < 0.15
            for i in range(12 if not held else 3):
                question = self.filled(template)
                if kind == "yes/no" and not bare and i % 2:
                    question = self.filled(self._whether(template))
                elif not bare and i % 2:
                    question = self.framed(question)
                yield self.varied(question), kind, several, held
        nouns = own_lines("typed_nouns.txt")
        for line in nouns:
            kind, singular, plural = (part.strip("{}") for part in re.findall(r"\{[^}]*\}|\S+", line))
            held = self._random.random() < 0.15
            for noun, frames, several in ((singular, FORMS["noun"], False), (plural, FORMS["nouns"], True)):
                if noun == singular == plural and not several:
                    continue
                for i, frame in enumerate(self._random.sample(frames, 14 if not held else 3)):
                    question = self.filled(
                        frame.replace("{n}", noun),
                        v=self._random.choice(FORMS["verb_ends"]),
                        w=self._random.choice(FORMS["where_ends"]),
                        d=self._random.choice(FORMS["verbs"]),
                    )
                    if frame.startswith(("which", "what", "in ", "for ", "from ", "the ")) and i % 3 == 0:
                        question = self.framed(question)
                    yield self.varied(question), kind, several, held

    def _whether(self, template: str) -> str:
        """A yes/no question in a polite frame: "is {p} alive" becomes "do you know whether {p} is alive"."""
        match = re.match(rf"({_VERBS}) (\{{\w\}}(?: and \{{\w\}})?|they|she|he|it|both \w+) (.*)", template)
        if match is None or self._random.random() < 0.3:
            return self._random.choice(("so ", "hey, ", "quick question: ", "ok, ", "")) + template
        verb, subject, rest = match.groups()
        told = f"{subject} {rest}" if verb in ("do", "does", "did") else f"{subject} {verb} {rest}"
        return str(self._random.choice(FORMS["whether"])).replace("{q}", told)

    def varied(self, question: str) -> str:
        """As people type: with or without capitals and marks."""
        chance = self._random.random()
        if chance < 0.35:
            return question.casefold()
        question = question[0].upper() + question[1:]
        return question + "?" if chance < 0.8 else question


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--facts", type=Path, help="what natural_questions/build.py writes")
    parser.add_argument("--most", type=int, default=4600, help="features kept")
    options = parser.parse_args()
    random_ = random.Random(11)
    types = Types(options.data)
    own = Own(types, random_)
    train: list[tuple[str, str, float]] = []
    held: list[tuple[str, str, str]] = []
    many: list[tuple[str, str, float]] = []
    many_held: list[tuple[str, str]] = []
    labelled = [
        (question, refined(kind, question) or kind, group, away)
        for question, kind, group, away in collected(options.data, types)
    ]
    given = list(dict.fromkeys(labelled))
    random_.shuffle(given)
    taken: Counter[tuple[str, str]] = Counter()
    for question, kind, group, away in given:
        taken[group, kind] += 1
        if taken[group, kind] > 1200:  # so that no set's favourite outweighs the others
            continue
        if away:
            held.append((question, kind, group))
            continue
        train.append((question, kind, 1.0))
        plain = question.rstrip(" ?")
        if random_.random() < 0.4:
            train.append((plain.casefold(), kind, 0.7))
        opens = re.match(r"(?:who|what|which|when|where|why|how|in what|in which)\b", plain.casefold())
        if opens and random_.random() < 0.4:
            train.append((own.varied(own.framed(plain[0].lower() + plain[1:])), kind, 0.7))
        if kind == "yes/no" and random_.random() < 0.5:
            frame = random_.choice(FORMS["whether"])
            moved = re.sub(rf"^({_VERBS}) (\S+(?: [A-Z]\S*)*)", r"\2 \1", plain[0].lower() + plain[1:])
            train.append((own.varied(frame.replace("{q}", moved)), kind, 0.7))
    for question, kind, several, away in own.typed():
        if away:
            held.append((question, kind, "our own forms"))
            many_held.append((question, "several" if several else "one"))
        else:
            train.append((question, kind, 1.0))
            many.append((question, "several" if several else "one", 1.0))
    for question, kind, several, group in natural(options.facts):
        label = "several" if several else "one"
        if group == "natural_dev":
            held.append((question, kind, group))
            many_held.append((question, label))
        else:  # whether a date or its year is meant they tell by what was found: their types would blur the words
            many.append((question, label, 2.0 if group == "natural" else 0.5))
    topics = [
        name.split(" (")[0] for kind in ("person", "work", "place", "organisation") for name in types.all_of(kind)
    ]
    random_.shuffle(topics)
    for i, name in enumerate(topics[:2500]):
        text = name if i % 3 else name.casefold()
        if i % 6 == 0:
            held.append((text, "summary", "bare topics"))
        else:
            train.append((text, "summary", 1.0))
        many.append((text, "one", 1.0))
    qald = json.loads((options.data / "decomposition/qald_10.json").read_text(encoding="utf-8"))["questions"]
    for i, item in enumerate(qald):
        answers = item.get("answers") or [{}]
        found = len((answers[0].get("results") or {}).get("bindings") or [])
        text = next(q["string"] for q in item["question"] if q["language"] == "en")
        label = "several" if found > 1 else "one"
        if found and i % 4 == 0:
            many_held.append((text, label))
        elif found:
            many.append((text, label, 1.0))
    plain_kinds = ("yes/no", "number", "year", "phrase")
    many += [(question, "one", 1.0) for question, kind, _ in train if kind in plain_kinds][:4000]
    many += [
        (q, "one", 0.5) for q, k, g, away in given if g in ("NQ", "2Wiki") and not away and not re.search(r"\w\ws\b", q)
    ][:3000]

    for name, texts, most in ((TYPES[0], train, options.most), (TYPES[1], many, 2500)):
        questions, labels, weights = zip(*texts, strict=True)
        fitted = fit(questions, labels, weights, features, most=most, least_count=2, strength=20.0, sparse=25)
        if name == TYPES[0]:
            fitted = tempered(fitted, [(list(features(q)), kind) for q, kind, group in held if group != "natural_dev"])
        model = write(fitted, EN / name, PROVENANCE)
        print(name, len(texts), "texts", len(fitted["weights"]), "features", (EN / name).stat().st_size, "bytes")
        if name == TYPES[0]:
            by_hand = [line.split("\t") for line in own_lines("nq_by_hand.tsv")]
            report(model, held + [(question, kinds, "NQ by hand") for kinds, question in by_hand])
        else:
            told = [model.probabilities(features(q))["several"] >= 0.5 for q, _ in many_held]
            right = [t == (label == "several") for t, (_, label) in zip(told, many_held, strict=True)]
            print(f"several: {len(right)} held back, {sum(right) / len(right):.3f} right")
            print([q for ok, (q, _) in zip(right, many_held, strict=True) if not ok][:20])


def report(model: Any, held: list[tuple[str, str, str]]) -> None:
    """Accuracy, calibration, and precision and coverage of the sure ones, for each set."""
    groups: dict[str, list[tuple[str, str, str, float]]] = defaultdict(list)
    for question, kind, group in held:
        found = model.probabilities(features(question))
        found["place"] += found.pop("country")
        best = max(found, key=lambda name: found[name])
        groups[group].append((question, "place" if kind == "country" else kind, best, found[best]))
    groups["all"] = [item for items in groups.values() for item in items]
    for group, items in groups.items():
        right = [best in kind.split("|") for _, kind, best, _ in items]
        sure = [p for *_, p in items]
        over = [ok for ok, p in zip(right, sure, strict=True) if p >= 0.9]
        ece = calibration_error(list(zip(sure, right, strict=True)))
        print(
            f"{group:22} {len(items):5} accuracy {sum(right) / len(items):.3f} ECE {ece:.3f}"
            f" | sure {len(over) / len(items):.2f} of them, {sum(over) / max(len(over), 1):.3f} right"
        )
        wrong = [(q[:70], k, b, round(p, 2)) for q, k, b, p in items if b not in k.split("|")]
        print("    ", sorted(wrong, key=lambda item: -item[3])[:5])


PROVENANCE = (
    "Learnt by scripts/train_answer_types.py from SimpleQuestions-Wikidata (CC BY), SQuAD 2.0, NQ-open, RuBQ, CANARD, "
    "QALD-10 and our own questions (CC BY-SA), MuSiQue (CC BY), HotpotQA (CC BY-SA), 2WikiMultihopQA (Apache 2.0), "
    "StrategyQA (MIT) and forms of our own (scripts/language_data). Whole hundredths; see linear.py."
)

if __name__ == "__main__":
    main()
