"""Make training data for reading, declining, checking and rewriting, one JSON object a line.

    scripts/build_reading_data.py --data ../shared/data --out reading.jsonl

From SQuAD 2.0 (the first 20 of its 25 articles; the last five are for measuring), HotpotQA's 457 further training
questions and CANARD's dialogues (the first nine tenths). Needs no index and no model. Contexts are cut and rendered by
the program's own code. Four kinds of lines, in the form that `scripts/train_adapter.py` reads:

- a question that the passage answers: the answer, then the check "yes";
- one that it does not answer: Unknown;
- a wrong answer of the right kind (for unanswerable questions the near miss that SQuAD's authors marked, else another
  date, number or name of the passage): only the check "no" is learnt;
- a follow-up question with its dialogue: the question as it would stand alone.

Seeded: the same input gives the same file.
"""

from __future__ import annotations

import argparse
import random
import re
from collections.abc import Iterator, Sequence
from pathlib import Path

from atomr_local.language.literals import DAY_AND_MONTH
from atomr_local.language.names import name_key, words
from atomr_local.language.words import english
from atomr_local.models.protocol import Message, Prompt
from atomr_local.models.templates import render
from atomr_local.reasoning.asking.writer import evidence_block, shown_passages
from atomr_local.system.sanitize import sanitize_line
from training.examples import PASSAGE_WORDS, checked, cited, example, parts_kept, print_kinds, refuted, span_of
from training.files import Line, read_lines, write_lines
from training.plans.typed import answer_type, as_typed
from training.splits import banned_questions, held_back_articles

_LONGEST_ANSWER = 14
_EARLIER_TURNS = 3
_LONGEST_TURN = 40
_NAMES = re.compile(r"\b[A-Z][\w'’-]+(?: (?:of|the|de|von|van|and) [A-Z][\w'’-]+| [A-Z][\w'’-]+)*")
_NUMBERS = re.compile(r"\b\d[\d,.]*(?: (?:million|billion|thousand|percent|km|miles|metres|meters|years))?\b|\b\d+%")
_YEARS = re.compile(rf"\b{DAY_AND_MONTH} \d{{4}}\b|\b(?:1\d|20)\d\d\b")


def sort_of(text: str) -> str:
    """What an answer looks like, so that a wrong one can look the same."""
    if _YEARS.fullmatch(text.strip()):
        return "date"
    if _NUMBERS.fullmatch(text.strip()):
        return "number"
    return "name" if _NAMES.fullmatch(text.strip()) else "phrase"


class ReadingData:
    def __init__(self, data: Path, seed: int) -> None:
        self.random = random.Random(seed)
        self.data = data
        self.banned = banned_questions(data)

    # Reading one passage.

    def squad(self) -> Iterator[Line]:
        rows, held = self._squad()
        passages: dict[str, dict[str, None]] = {}
        for row in rows:
            passages.setdefault(row["title"], {})[row["context"]] = None
        for row in rows:
            if row["title"] in held or name_key(row["question"]) in self.banned:
                continue
            title, text = sanitize_line(row["title"].replace("_", " ")), sanitize_line(row["context"])
            others = [(title, sanitize_line(t)) for t in passages[row["title"]] if t != row["context"]]
            answers = sorted(dict.fromkeys(map(sanitize_line, row["answers"])), key=len)
            misses = [sanitize_line(miss) for miss in row["near_misses"]]
            yield from self.one(sanitize_line(row["question"]), title, text, others, answers, misses)

    def _squad(self) -> tuple[list[Line], set[str]]:
        rows = read_lines(self.data / "reading" / "squad2_part.jsonl")
        return rows, held_back_articles(rows)

    def one(
        self,
        question: str,
        title: str,
        text: str,
        others: Sequence[tuple[str, str]],
        answers: Sequence[str],
        misses: Sequence[str],
    ) -> Iterator[Line]:
        """The lines of one question and the passage it was asked of."""
        found = [(title, text)]
        task, template = "read", "lean_read"
        if self.random.random() < 0.4:
            found += self.random.sample(list(others), min(2, len(others)))
            if self.random.random() < 0.5:
                task, template = "answer", "lean_answer"
                self.random.shuffle(found)
        shown = shown_passages(question, found, PASSAGE_WORDS, whole=task == "answer")
        place = next(i for i, passage in enumerate(found) if passage == (title, text))
        passage = shown[place][1]
        prompt = render(
            "atomr_local.reasoning.reading", template, (), question=question, evidence=evidence_block(shown)
        )
        number = f" [{place + 1}]"
        told = next((s for a in answers if len(a.split()) <= _LONGEST_ANSWER if (s := span_of(a, passage))), None)
        if answers and told is None:
            return  # cut away, or too long to be an answer
        near = [span for miss in misses if (span := span_of(miss, passage))]
        wrong = self.wrong(told, passage, question) if told else near
        if wrong and self.random.random() < 0.4:
            yield refuted(example(f"{task}:wrong", "squad", prompt, self.random.choice(wrong) + number))
        elif told:
            yield checked(example(task, "squad", prompt, told + number))
        else:
            yield example(task, "squad", prompt, "Unknown")

    def wrong(self, told: str, passage: str, question: str) -> list[str]:
        """Other texts of the passage that look like the right answer and share no word with it or the question."""
        sort = sort_of(told)
        pattern = {"date": _YEARS, "number": _NUMBERS, "name": _NAMES, "phrase": _NAMES}[sort]
        taken = set(words(told)) | (set(words(question)) if sort != "number" else set())
        found = (m[0] for m in pattern.finditer(passage))
        return [text for text in found if words(text)[0] not in english().stop and not taken & set(words(text))]

    # Whole questions over several passages.

    def hotpot(self) -> Iterator[Line]:
        pages = {name_key(p["title"]): p for p in read_lines(self.data / "qa" / "hotpot_train400_corpus.jsonl")}
        every = [(set(words(page["text"])), page) for page in pages.values()]
        for record in read_lines(self.data / "qa" / "hotpot_train400_questions.jsonl"):
            gold = [pages[key] for title in record["gold_titles"] if (key := name_key(title)) in pages]
            if name_key(record["question"]) in self.banned or len(gold) < 2:
                continue
            asked = set(words(record["question"]))
            alike = [page for _, page in sorted(every, key=lambda one: -len(one[0] & asked))[:12]]
            for without in (False, self.random.random() < 0.4):
                kept = gold[1:] if without else gold
                chosen = kept + [p for p in self.random.sample(alike, 4) if p not in gold][: 3 - len(kept)]
                self.random.shuffle(chosen)
                found = [(sanitize_line(p["title"]), sanitize_line(p["text"])) for p in chosen]
                made = self.whole(sanitize_line(record["question"]), found, record["answers"], without)
                if made:
                    yield made

    def whole(self, question: str, found: list[tuple[str, str]], answers: Sequence[str], without: bool) -> Line | None:
        shown = shown_passages(question, found, PASSAGE_WORDS, whole=True)
        prompt = render(
            "atomr_local.reasoning.reading", "lean_answer", (), question=question, evidence=evidence_block(shown)
        )
        if without:
            held = any(cited(answer, shown) for answer in answers)
            return None if held or answers[0] in {"yes", "no"} else example("answer", "hotpot400", prompt, "Unknown")
        for answer in answers:
            closed = answer in {"yes", "no"}
            place = (answer, 0) if closed else cited(answer, shown)
            if place is None:
                continue
            if self.random.random() < 0.3 and not closed:
                wrong = self.wrong(answer, " ".join(text for _, text in shown), question)
                if wrong:
                    return refuted(example("answer:wrong", "hotpot400", prompt, f"{self.random.choice(wrong)} [1]"))
            numbers = "[1][2]" if closed else f"[{place[1]}]"
            return checked(example("answer", "hotpot400", prompt, f"{place[0]} {numbers}"))
        return None

    # Plans of one direct step.

    def direct_plans(self, count: int) -> Iterator[Line]:
        """SQuAD's questions ask for a detail of one passage: the plan is the question as understood, and its type."""
        rows, held = self._squad()
        fit = [row for row in rows if row["title"] not in held and row["answers"] and row["question"].endswith("?")]
        for row in self.random.sample(fit, count):
            question = sanitize_line(row["question"])
            sort, several = answer_type(question, "", row["answers"][0])
            plan = f"0. {question} = Answer({sort}{', several' if several else ''})"
            typed, _ = as_typed(question, "", self.random)
            yield example("plan", "squad", render("atomr_local.reasoning.planning", "lean_plan", question=typed), plan)

    # Follow-up questions.

    def dialogues(self) -> Iterator[Line]:
        rows = read_lines(self.data / "dialogue" / "canard_dev.jsonl")
        names = list(dict.fromkeys(row["dialog"] for row in rows))
        training = set(names[: len(names) * 9 // 10])
        for row in rows:
            history = [*row["history"]]
            if row["dialog"] not in training or not history or len(history) % 2:
                continue
            turns = list(zip(history[::2], history[1::2], strict=True))
            # A dialogue of ours names its subject in the first turn; CANARD's subject is the page.
            if len(turns) == 1 or self.random.random() < 0.5:
                turns[0] = (f"{turns[0][0].rstrip('?')} ({row['page']})?", turns[0][1])
            yield rewriting("canard", turns, row["question"], row["rewrite"])


def rewriting(source: str, turns: Sequence[tuple[str, str]], question: str, rewrite: str) -> Line:
    """A line that teaches to put a follow-up question so that it stands alone."""
    lines = []
    for asked, answer in turns[-_EARLIER_TURNS:]:
        lines += [f"Q: {sanitize_line(asked)}", f"A: {' '.join(sanitize_line(answer).split()[:_LONGEST_TURN])}"]
    shown = "\n".join([*lines, f"Q: {sanitize_line(question)}"])
    prompt = Prompt((Message("system", "Rewrite."),), (Message("user", shown),))
    return example("rewrite", source, prompt, sanitize_line(rewrite))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--share", nargs="*", default=[], metavar="SOURCE=PART", help="keep this part of a source")
    parser.add_argument("--direct", type=int, default=0, help="plans of one direct step from SQuAD's questions")
    parser.add_argument("--seed", type=int, default=0)
    given = parser.parse_args()
    builder = ReadingData(given.data, given.seed)
    parts = (builder.squad, builder.hotpot, builder.dialogues, lambda: builder.direct_plans(given.direct))
    made = [item for part in parts for item in part()]
    made = parts_kept(made, given.share, "{source}", builder.random)
    builder.random.shuffle(made)
    write_lines(given.out, made)
    print_kinds(made)
