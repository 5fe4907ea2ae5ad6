"""Make training data for pointed readings (`atomr_local/reasoning/reading/pointing.py`), one JSON object a line.

    scripts/build_pointing_data.py --data ../shared/data --out pointing.jsonl

Needs no index and no model. Contexts are cut, numbered and rendered by the program's own code, and found by BM25 as the
program finds them. Four sources:

- our own questions on people's documents (`scripts/training_questions/documents.jsonl`), with the sentences that
  answer: how-to, why, what-is, rules, facts, lists, yes or no, two at once, and near misses;
- `data/broad`: questions on many kinds of text, the sentence found by the answer;
- SQuAD 2.0's articles that may be trained on;
- whole questions of HotpotQA, MuSiQue and 2WikiMultihopQA with their pages, or with one of them taken away.

The documents' questions also give plans of one direct step and lines of the older closed tasks. Seeded.
"""

from __future__ import annotations

import argparse
import json
import lzma
import math
import random
import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass, field
from functools import cached_property
from pathlib import Path

from atomr_local.indexing.readers.base import Section
from atomr_local.indexing.readers.documents.process import parse
from atomr_local.indexing.text_index.chunking import passage_heading, passages
from atomr_local.indexing.text_index.documents import article_of
from atomr_local.language.names import name_key, words
from atomr_local.language.words import english, first_letters
from atomr_local.models.templates import render
from atomr_local.reasoning.asking.writer import evidence_block, shown_passages
from atomr_local.reasoning.reading.pointing import PointedPart, ShownPassages, shown_sentences, written_pointing
from atomr_local.system.sanitize import sanitize_line
from training.examples import PASSAGE_WORDS, checked, example, print_kinds, refuted, span_of
from training.files import QUESTIONS, Line, read_lines, write_lines
from training.plans.typed import answer_type
from training.splits import banned_questions, for_calibration, held_back_articles, training_part

COLLECTIONS = "collections"
MADE = "documents_made"
QUOTED = frozenset("hwdimu")
_MOST_WORDS = 380
_LONGEST_ANSWER = 10
_K1, _B = 1.2, 0.75
_BROAD_CAP = {
    "NI-task1327 zre": 2500, "BoolQ-train": 0, "WikiTableQuestions-training": 900, "FairytaleQA-train": 1800,
    "WikiTableQuestions-pristine-unseen-tables": 300, "TORQUE-dev": 0, "QAMR-test": 300, "QAMR-dev": 300,
    "Molweni-test": 200, "FriendsQA-tst": 500, "FriendsQA-dev": 500, "SQuAD subset-train": 2500,
    "NQ-open-dev+gold passage (lost-in-the-middle)": 3500, "COVID-QA": 1500, "Quoref-dev": 1500,
}  # fmt: skip


@dataclass(frozen=True)
class Piece:
    """A passage of an article, with its place there."""

    article: str
    heading: str
    text: str
    start: int
    end: int


class Bm25:
    """Passages ranked by the words of a question (Robertson and Zaragoza, 2009)."""

    def __init__(self, pieces: Sequence[Piece]) -> None:
        self.pieces = pieces
        counted = [Counter(_stems(f"{piece.heading} {piece.text}")) for piece in pieces]
        self._sizes = [sum(one.values()) for one in counted]
        self._mean = sum(self._sizes) / max(1, len(pieces))
        self._places: dict[str, list[tuple[int, int]]] = defaultdict(list)
        for number, one in enumerate(counted):
            for stem, count in one.items():
                self._places[stem].append((number, count))

    def best(self, question: str, count: int) -> list[Piece]:
        scores: dict[int, float] = defaultdict(float)
        for stem in set(_stems(question)):
            places = self._places.get(stem, ())
            rare = math.log(1 + (len(self.pieces) - len(places) + 0.5) / (len(places) + 0.5))
            for number, times in places:
                size = _K1 * (1 - _B + _B * self._sizes[number] / self._mean)
                scores[number] += rare * times * (_K1 + 1) / (times + size)
        ranked = sorted(scores, key=lambda number: (-scores[number], number))
        return [self.pieces[number] for number in ranked[:count]]


def _stems(text: str) -> list[str]:
    return [first_letters(word) for word in words(text) if word not in english().stop]


@dataclass
class Texts:
    """Articles by key, cut into passages."""

    texts: dict[str, str] = field(default_factory=dict)
    pieces: dict[str, list[Piece]] = field(default_factory=dict)

    def add(self, key: str, title: str, text: str, sections: Sequence[Section] = ()) -> None:
        self.texts[key] = text
        self.pieces[key] = [
            Piece(key, passage_heading(title, one.section), one.text, one.start, one.end)
            for one in passages(text, sections=sections, title=title)
        ]


def collection_texts(roots: Iterable[Path]) -> Texts:
    """Folders of documents, read as the program reads them; keys are paths below their root."""
    found = Texts()
    for root in roots:
        _add_folders(found, root)
    return found


def _add_folders(found: Texts, root: Path) -> None:
    for path in sorted(root.rglob("*")):
        if not path.is_file() or path.parent == root:
            continue
        name = path.relative_to(root).as_posix()
        try:
            with path.open("rb") as stream:
                documents = list(parse(stream, path.name))
        except Exception:  # what the program cannot read either
            continue
        for number, document in enumerate(documents, 1):
            key = name if len(documents) == 1 else f"{name}/{number}"
            article = article_of(key, name, json.loads(json.dumps(asdict(document))))
            found.add(key, article.title, article.text, article.sections)


class PointingData:
    """Args:
    folders: a folder with the further collections that `documents.jsonl` asks about, if they are at hand.
    """

    def __init__(self, data: Path, seed: int, folders: Path | None = None) -> None:
        self.random = random.Random(seed)
        self.data = data
        self.roots = [data / COLLECTIONS, QUESTIONS / MADE, *([folders] if folders else [])]
        self.banned = banned_questions(data)
        for path in (data / "qa").glob("*dev2*_questions.jsonl"):
            self.banned |= {name_key(str(row["question"])) for row in read_lines(path)}

    # People's documents.

    @cached_property
    def broad_rows(self) -> list[Line]:
        with lzma.open(self.data / "broad" / "reading.jsonl.xz", "rt", encoding="utf-8") as stream:
            return [json.loads(line) for line in stream]

    def documents(self, copies: int) -> Iterator[Line]:
        folders = collection_texts(self.roots)
        broad = Texts()
        rows = read_lines(QUESTIONS / "documents.jsonl")
        wanted = {row["key"] for row in rows if row["key"].startswith("broad:")}
        for row in self.broad_rows:
            for passage in row["passages"][:1]:
                key = broad_key(passage["text"])
                if key in wanted and key not in broad.texts:
                    broad.add(key, passage["title"] or "Text", passage["text"])
        ranked = {}
        for name in {row["key"].split("/")[0] for row in rows if not row["key"].startswith("broad:")}:
            ranked[name] = Bm25(
                [p for key, found in folders.pieces.items() if key.startswith(f"{name}/") for p in found]
            )
        ranked["broad"] = Bm25([piece for found in broad.pieces.values() for piece in found])
        lost = 0
        for row in rows:
            if for_calibration(row, "documents"):
                continue
            texts = broad if row["key"].startswith("broad:") else folders
            parts = placed(row, texts.texts.get(row["key"], ""))
            if parts is None:
                lost += 1
                continue
            index = ranked["broad" if texts is broad else row["key"].split("/")[0]]
            own = texts.pieces[row["key"]]
            yield from self._plan(row)
            for _ in range(copies):
                yield from self._document(row, parts, own, index.best(row["question"], 12))
        print(f"{lost} of {len(rows)} questions on documents whose text is not there or has changed")

    def _plan(self, row: Line) -> Iterator[Line]:
        question = sanitize_line(row["question"])
        code = row["kind"]
        if code in QUOTED:
            sort, several = "passage", False
        elif code == "y":
            sort, several = "yes/no", False
        elif code == "n" or not row["answers"]:
            return
        else:
            sort, several = answer_type(question, "", row["answers"][0])
        plan = f"0. {question} = Answer({sort}{', several' if several or code == 'l' else ''})"
        yield example(
            "plan", "documents", render("atomr_local.reasoning.planning", "lean_plan", question=question), plan
        )

    def _document(
        self, row: Line, parts: list[list[tuple[int, int]]], own: Sequence[Piece], found: Sequence[Piece]
    ) -> Iterator[Line]:
        spans = [span for part in parts for span in part]
        near = row.get("near") or (spans[0] if spans else None)
        gold = [p for p in own if any(p.start < end and start < p.end for start, end in spans)]
        beside = [p for p in own if near is not None and p.start <= near[0] < p.end] if not gold else []
        others = [p for p in found if p not in gold and p not in beside]
        answerable = bool(spans)
        if answerable and self.random.random() < 0.12:  # the passage was not found
            gold, answerable = [], False
        kept = self.random.choice((1, 1, 2, 2, 3))
        context = [[p] for p in others[: kept + 2]]
        if len(context) > kept:
            context = self.random.sample(context, kept) if self.random.random() < 0.4 else context[:kept]
        block = gold if answerable else beside
        if block:
            groups = _adjoining(block)
            for group in groups:
                place = 0 if self.random.random() < 0.6 else self.random.randint(0, len(context))
                context.insert(place, group)
        if not context:
            return
        flat = [piece for group in context for piece in group]
        shown = shown_sentences([(p.heading, p.text) for p in flat], _MOST_WORDS)
        if not answerable:
            yield self._pointed("documents", row["question"], shown, ())
            return
        made: list[PointedPart] = []
        for number, part in enumerate(parts):
            hit = tuple(
                i for i, one in enumerate(shown.sentences)
                if any(
                    flat[one.passage].article == row["key"]
                    and flat[one.passage].start + one.start < end
                    and start < flat[one.passage].start + one.end
                    for start, end in part
                )
            )  # fmt: skip
            if not hit:
                return  # cut away
            answers = row["answers"]
            if row["kind"] == "t":
                answers = answers[number : number + 1]
            short = [
                sanitize_line(a) for a in answers if len(a.split()) <= _LONGEST_ANSWER and ";" not in a and "&" not in a
            ]
            made.append(PointedPart(hit, tuple(short) if len(short) == len(answers) else ()))
        yield self._pointed("documents", row["question"], shown, made)
        if row["kind"] in "fl" and self.random.random() < 0.5:
            yield from self._closed(row, flat)

    def _closed(self, row: Line, flat: Sequence[Piece]) -> Iterator[Line]:
        """The same as a line of the older tasks."""
        task, template = self.random.choice((("read", "lean_read"), ("answer", "lean_answer")))
        question = sanitize_line(row["question"])
        found = [(piece.heading, piece.text) for piece in flat[:3]]
        shown = shown_passages(question, found, PASSAGE_WORDS, whole=task == "answer")
        place = next((i for i, (_, text) in enumerate(shown, 1) if all(span_of(a, text) for a in row["answers"])), 0)
        prompt = render(
            "atomr_local.reasoning.reading", template, (), question=question, evidence=evidence_block(shown)
        )
        if place and sum(len(a.split()) for a in row["answers"]) < 30:
            told = "; ".join(span_of(a, shown[place - 1][1]) or a for a in row["answers"])
            yield checked(example(task, "documents", prompt, f"{told} [{place}]"))

    def _pointed(self, source: str, question: str, shown: ShownPassages, parts: Sequence[PointedPart]) -> Line:
        question = sanitize_line(question)
        prompt = render("atomr_local.reasoning.reading", "lean_point", (), question=question, evidence=shown.block)
        if not parts:
            return example("point", source, prompt, written_pointing(()))
        if self.random.random() < 0.15 and (wrong := self._wrong(shown, parts)):
            return refuted(example("point:wrong", source, prompt, written_pointing(wrong)))
        made = example("point", source, prompt, written_pointing(parts))
        return checked(made) if self.random.random() < 0.5 else made

    def _wrong(self, shown: ShownPassages, parts: Sequence[PointedPart]) -> list[PointedPart]:
        """Other sentences of the prompt, which do not answer; words of them where the answer was short."""
        right = {i for part in parts for i in part.sentences}
        others = [i for i in range(len(shown.sentences)) if i not in right]
        if not others:
            return []
        length = min(len(parts[0].sentences), 3)
        first = self.random.choice(others)
        chosen = tuple(i for i in range(first, first + length) if i in others)
        if not parts[0].answers:
            return [PointedPart(chosen)]
        if parts[0].answers[0] in {"yes", "no"}:
            return [PointedPart(parts[0].sentences, ("no" if parts[0].answers[0] == "yes" else "yes",))]
        tokens = shown.sentences[chosen[0]].text.split()
        size = min(len(tokens), max(1, len(parts[0].answers[0].split())))
        at = self.random.randint(0, len(tokens) - size)
        run = " ".join(tokens[at : at + size]).strip(" .,:;()\"'&")
        return [PointedPart(chosen[:1], (run,))] if run else []

    # Other texts, whose answers are found by their words.

    def broad(self) -> Iterator[Line]:
        held = {name_key(r["context"])[:80] for r in self._squad_held()}
        rows = list(self.broad_rows)
        self.random.shuffle(rows)
        taken: Counter[str] = Counter()
        pool: dict[str, list[tuple[str, str]]] = defaultdict(list)
        for row in rows:
            for p in row["passages"][:2]:
                pool[row["source"]].append((p["title"] or "Text", p["text"]))
        for row in rows:
            source = row["source"]
            asked = sanitize_line(row["question"]).strip()
            if row["lang"] != "en" or row["kind"] == "yesno" or taken[source] >= _BROAD_CAP.get(source, 2500):
                continue
            found = [(p["title"] or "Text", p["text"]) for p in row["passages"]]
            if not 3 <= len(asked.split()) <= 40 or name_key(asked) in self.banned or not found:
                continue
            if any(name_key(text)[:80] in held for _, text in found):
                continue
            made = self.by_words(f"broad:{source}", asked, found, row["answers"], pool[source])
            if made is not None:
                taken[source] += 1
                yield made

    def _squad_held(self) -> list[Line]:
        rows = read_lines(self.data / "reading" / "squad2_part.jsonl")
        held = held_back_articles(rows)
        return [row for row in rows if row["title"] in held]

    def squad(self, most: int) -> Iterator[Line]:
        rows = read_lines(self.data / "reading" / "squad2_part.jsonl")
        held = held_back_articles(rows)
        contexts: dict[str, dict[str, None]] = defaultdict(dict)
        for row in rows:
            contexts[row["title"]][row["context"]] = None
        fit = [row for row in rows if row["title"] not in held and name_key(row["question"]) not in self.banned]
        for row in self.random.sample(fit, min(most, len(fit))):
            title = row["title"].replace("_", " ")
            pool = [(title, text) for text in contexts[row["title"]] if text != row["context"]]
            made = self.by_words("squad", row["question"], [(title, row["context"])], row["answers"], pool)
            if made is not None:
                yield made

    def whole(self) -> Iterator[Line]:
        """Questions of several hops: the pages that lead to the answer, or all but one of them."""
        for name in ("2wiki_train500", "hotpot_train400", "hotpot_train100", "musique_train100"):
            qa = self.data / "qa"
            pages = {name_key(p["title"]): p for p in read_lines(qa / f"{name}_corpus.jsonl")}
            ranked = Bm25([Piece(p["title"], p["title"], p["text"], 0, len(p["text"])) for p in pages.values()])
            records = read_lines(qa / f"{name}_questions.jsonl")
            for record in records if name == "hotpot_train400" else training_part(records):
                question = sanitize_line(record["question"])
                gold = [pages[key] for title in record["gold_titles"] if (key := name_key(title)) in pages]
                answers = [a for a in record["answers"] if a not in {"yes", "no"}]
                if name_key(question) in self.banned or len(gold) < 2 or not answers:
                    continue
                near = [(p.heading, p.text) for p in ranked.best(question, 8)]
                titles = {page["title"] for page in gold}
                near = [one for one in near if one[0] not in titles]
                told = [p for p in gold if any(span_of(a, p["text"]) for a in answers)]
                if not told:
                    continue
                both = [(p["title"], p["text"]) for p in gold]
                made = self.by_words(name, question, both, answers, near, all_needed=True)
                if made is not None:
                    yield made
                lone = [(p["title"], p["text"]) for p in gold if p not in told] or near[:1]
                if len(told) < len(gold) and self.random.random() < 0.7:
                    yield self._pointed(name, question, self._mixed(lone[:2], near), ())

    def _mixed(self, found: Sequence[tuple[str, str]], others: Sequence[tuple[str, str]]) -> ShownPassages:
        context = [*found, *self.random.sample(list(others), min(len(others), self.random.choice((0, 1, 1, 2))))]
        self.random.shuffle(context)
        return shown_sentences(context, _MOST_WORDS)

    def by_words(
        self,
        source: str,
        question: str,
        found: Sequence[tuple[str, str]],
        answers: Sequence[str],
        pool: Sequence[tuple[str, str]],
        *,
        all_needed: bool = False,
    ) -> Line | None:
        """The sentence that holds the answer and most of the question's words; of a long answer, all its sentences."""
        if not answers:
            few = self.random.sample(list(pool), min(len(pool), 4))
            return self._pointed(source, question, self._mixed(found[:3], few), ())
        kept = list(found) if all_needed else found[:3]
        drawn = self.random.sample(list(pool), min(len(pool), 4))
        others = [one for one in drawn if not any(span_of(a, one[1]) for a in answers)]
        shown = self._mixed(kept, others)
        parts = self._holding(question, shown, sorted(answers, key=len))
        return self._pointed(source, question, shown, parts) if parts else None

    def _holding(self, question: str, shown: ShownPassages, answers: Sequence[str]) -> list[PointedPart]:
        asked = set(_stems(question))

        def shared(i: int) -> int:
            return len(asked & set(_stems(shown.sentences[i].text)))

        for answer in answers:
            plain = sanitize_line(answer)
            holding = [i for i, one in enumerate(shown.sentences) if span_of(plain, one.text)]
            if holding and len(plain.split()) <= _LONGEST_ANSWER and not set(";&[]") & set(plain):
                best = max(holding, key=lambda i: (shared(i), -i))
                told = span_of(plain, shown.sentences[best].text) or plain
                size = len(shown.sentences[best].text.split())
                short = len(told.split()) < max(3, size) or size <= 3
                return [PointedPart((best,), (told,) if short else ())]
        longest = set(_stems(answers[-1]))
        if len(longest) < 5:
            return []
        told_by = tuple(
            i for i, one in enumerate(shown.sentences)
            if (mine := set(_stems(one.text))) and len(mine & longest) >= 0.7 * len(mine) and len(mine) > 2
        )  # fmt: skip
        covered = {stem for i in told_by for stem in _stems(shown.sentences[i].text)}
        return [PointedPart(told_by)] if told_by and len(longest & covered) >= 0.7 * len(longest) else []


def broad_key(text: str) -> str:
    """How our questions name a passage of `data/broad`."""
    import hashlib

    return f"broad:{hashlib.sha256(text.encode()).hexdigest()[:16]}"


def placed(row: Line, text: str) -> list[list[tuple[int, int]]] | None:
    """The spans of the text that answer, by part; found again where the text has moved. None if they are not there."""
    parts = [[_found(text, *span) for span in part] for part in row["spans"]]
    whole = [[span for span in part if span is not None] for part in parts]
    return whole if text and whole == parts else None


def _found(text: str, start: int, end: int, first: str, last: str) -> tuple[int, int] | None:
    """The span, which begins with `first` and ends with `last`, where it is now."""
    if text[start:].startswith(first) and text[:end].endswith(last):
        return start, end
    begins = [match.start() for match in re.finditer(re.escape(first), text)]
    begin = min(begins, key=lambda at: abs(at - start), default=-1)
    finish = text.find(last, max(begin, 0))
    return (begin, finish + len(last)) if begin >= 0 and finish >= 0 else None


def _adjoining(pieces: Sequence[Piece]) -> list[list[Piece]]:
    """The pieces in order, those that follow each other together."""
    groups: list[list[Piece]] = []
    for piece in sorted(pieces, key=lambda one: one.start):
        if groups and piece.start - groups[-1][-1].end < 200:
            groups[-1].append(piece)
        else:
            groups.append([piece])
    return groups


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--folders", type=Path, help="collections that scripts/training_questions/README.md names")
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--copies", type=int, default=2, help="contexts for each question on documents")
    parser.add_argument("--squad", type=int, default=4000, help="questions of SQuAD 2.0")
    parser.add_argument("--seed", type=int, default=0)
    given = parser.parse_args()
    builder = PointingData(given.data, given.seed, given.folders)
    parts: Iterable[Iterator[Line]] = (
        builder.documents(given.copies), builder.broad(), builder.squad(given.squad), builder.whole()
    )  # fmt: skip
    made = [item for part in parts for item in part]
    builder.random.shuffle(made)
    write_lines(given.out, made)
    print_kinds(made)
