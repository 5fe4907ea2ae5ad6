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
import json
import random
import re
from collections import Counter, defaultdict
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from atomr_lab.evaluation.report import calibration_error

from atomr_local.language.question_kind import answer_type_features as features
from training.files import ROOT, language_forms, language_lines
from training.models.answer_labels import VERBS, Types, collected, natural, refined
from training.models.linear import fit, tempered, write

EN = ROOT / "atomr_local/language/en"
FORMS = language_forms()
TYPES = ("answer_types.json", "several_answers.json")


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
        for line in language_lines("typed_questions.txt"):
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
        nouns = language_lines("typed_nouns.txt")
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
        match = re.match(rf"({VERBS}) (\{{\w\}}(?: and \{{\w\}})?|they|she|he|it|both \w+) (.*)", template)
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
            moved = re.sub(rf"^({VERBS}) (\S+(?: [A-Z]\S*)*)", r"\2 \1", plain[0].lower() + plain[1:])
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
            by_hand = [line.split("\t") for line in language_lines("nq_by_hand.tsv")]
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
