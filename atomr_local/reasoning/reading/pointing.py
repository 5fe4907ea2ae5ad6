"""The format of a pointed reading: the model names the sentences that answer, then the words where these are few.

The prompt numbers the sentences of all passages. The output is `Unknown`, or sentences (`3-7`, `2,5`), or sentences
with an answer in their words (`4: six weeks`, `4: yes`, `3,6: red; blue`); ` & ` joins the answers of two questions.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from atomr_local.language.sentences import sentences
from atomr_local.models.gbnf import literal
from atomr_local.models.protocol import Generation
from atomr_local.reasoning.asking.asking import GAP
from atomr_local.reasoning.confidence import mean_logprob
from atomr_local.reasoning.reading.answer_formats import AnswerSpec, answer_rule
from atomr_local.reasoning.reading.checks import are_verdicts
from atomr_local.sources.protocol import Evidence
from atomr_local.system.sanitize import sanitize_line

UNKNOWN = "Unknown"
MOST_PARTS = 2
_MOST_RANGES = 4
_TITLE_CHARACTERS = 120
_LONGEST_NUMBER = 8  # characters of the number of an item, with the first of its text
# Of 55 short answers over documents the four whose first word had a lower probability were wrong, two of them in the
# right sentence.
_UNSURE = 0.6
# The number of an item in a list: beside the number of its sentence it would be a second one.
_ITEM = re.compile(r"^(\d{1,3})[.)] (?=\S)")
# A question for steps: a list of them that the model names one of is told whole.
_ASKS_STEPS = re.compile(r"\bhow (?:do|does|can|could|should|would|must|to)\b|\bsteps\b", re.IGNORECASE)
# A question for a reason, which a whole sentence tells.
_ASKS_REASON = re.compile(r"\bwhy\b|\bhow come\b", re.IGNORECASE)
_PART = re.compile(r"(?P<where>\d+(?:-\d+)?(?:,\d+(?:-\d+)?)*)(?:: (?P<answers>.+))?", re.DOTALL)


@dataclass(frozen=True, slots=True)
class ShownSentence:
    """A sentence of the prompt: `text` of passage number `passage` (from 0), which has it from `start` to `end`."""

    passage: int
    start: int
    end: int
    text: str


@dataclass(frozen=True, slots=True)
class ShownPassages:
    """What the prompt shows: the block, and its sentences in order; the first has the number 1."""

    block: str
    sentences: tuple[ShownSentence, ...]

    def telling(self, part: PointedPart) -> tuple[int, ...]:
        """The sentences of a part. Where none of them has the words of its answer and others do, these instead."""
        wanted = [answer for answer in part.answers if answer.casefold() not in {"yes", "no"}]
        held = [i for i in part.sentences if any(answer in self.sentences[i].text for answer in wanted)]
        if not wanted or held:
            return part.sentences
        elsewhere = [i for i, one in enumerate(self.sentences) if any(answer in one.text for answer in wanted)]
        return tuple(elsewhere[:1]) or part.sentences

    def with_steps(self, indexes: Sequence[int], texts: Sequence[str], question: str) -> tuple[int, ...]:
        """The sentences, and the rest of each numbered list that holds two of its items, or one if steps are asked for.

        Args:
            texts: of the passages.
        """
        fewest = 1 if _ASKS_STEPS.search(question) else 2
        told = set(indexes)
        for items in self._numbered_lists(texts):
            if sum(not told.isdisjoint(item) for item in items) >= fewest:
                told.update(index for item in items for index in item)
        return tuple(sorted(told))

    def _numbered_lists(self, texts: Sequence[str]) -> Iterator[list[list[int]]]:
        """The numbered lists of the passages: each item as the indexes of its sentences."""
        items: list[list[int]] = []
        number = before = -1
        for index, one in enumerate(self.sentences):
            text = texts[one.passage]
            item = _ITEM.match(text[one.start : one.start + _LONGEST_NUMBER])
            same = before >= 0 and self.sentences[before].passage == one.passage
            on_line = same and "\n" not in text[self.sentences[before].end : one.start]
            if item is not None and same and items and int(item[1]) == number + 1:
                items.append([index])
            elif item is None and items and on_line:
                items[-1].append(index)
            else:
                yield items
                items = [[index]] if item is not None else []
            number = int(item[1]) if item is not None else number
            before = index
        yield items

    def quotation(self, indexes: Sequence[int], texts: Sequence[str]) -> tuple[str, list[tuple[int, int, int]]]:
        """The sentences as the passages write them, and (passage, start, end) of each run of them.

        Args:
            texts: of the passages.
        """
        shown = self.sentences
        runs: list[list[int]] = []
        for index in indexes:
            if runs and runs[-1][-1] == index - 1 and shown[index - 1].passage == shown[index].passage:
                runs[-1].append(index)
            else:
                runs.append([index])
        spans = [(shown[run[0]].passage, shown[run[0]].start, shown[run[-1]].end) for run in runs]
        pieces = [texts[passage][start:end] for passage, start, end in spans]
        joined = pieces[0] if pieces else ""
        for before, run, piece in zip(runs, runs[1:], pieces[1:], strict=False):
            joined += f"\n{piece}" if run[0] == before[-1] + 1 else f" {GAP} {piece}"
        return joined, spans


@dataclass(frozen=True, slots=True)
class PointedPart:
    """One answer: indexes of its sentences (from 0, ascending), and its words if it is short."""

    sentences: tuple[int, ...]
    answers: tuple[str, ...] = ()


def heading_of(evidence: Evidence) -> str:
    """What stands before a passage: its page and section."""
    section = evidence.locator.get("section") or evidence.locator.get("heading") or ""
    return f"{evidence.title}, {section}" if section else evidence.title


def shown_sentences(passages: Iterable[tuple[str, str]], words: int) -> ShownPassages:
    """The passages, (heading, text) best first, as the prompt shows them.

    Args:
        words: the most of all texts together; sentences over it are left out, but never all of them.
    """
    lines: list[str] = []
    numbered: list[ShownSentence] = []
    left, heading_before = words, None
    for number, (heading, text) in enumerate(passages):
        kept = []
        for start, end in sentences(text):
            piece = _ITEM.sub("", sanitize_line(text[start:end]))
            if not piece:
                continue
            size = len(piece.split())
            if size > left and numbered:
                left = 0
                break
            left -= size
            begin = start + len(text[start:end]) - len(text[start:end].lstrip())
            kept.append(ShownSentence(number, begin, begin + len(text[start:end].strip()), piece))
            numbered.append(kept[-1])
        if not kept:
            break
        name = sanitize_line(heading)[:_TITLE_CHARACTERS]
        if name != heading_before:
            lines.append(f"[{name}]")
            heading_before = name
        lines += [f"{len(numbered) - len(kept) + i} {one.text}" for i, one in enumerate(kept, 1)]
        if left <= 0:
            break
    return ShownPassages("\n".join(lines), tuple(numbered))


def pointing_grammar(shown: ShownPassages, question: str, *, spans: bool = True, guess: bool = False) -> str:
    """GBNF of the output, rule `root`.

    Args:
        spans: whether an answer must be a run of the sentences' words.
        guess: whether Unknown is not allowed.
    """
    rules = {"root": "", "part": "", "range": ""}
    texts = tuple(one.text for one in shown.sentences)
    most = answer_rule(rules, AnswerSpec("answer", question, texts, spans=spans, bodies=texts))
    known = f'part (" & " part){{0,{MOST_PARTS - 1}}}'
    rules["root"] = known if guess else f'{known} | "{UNKNOWN}"'
    rules["part"] = f'range ("," range){{0,{_MOST_RANGES - 1}}} (": " one ("; " one){{0,{most - 1}}})?'
    rules["range"] = 'number ("-" number)?'
    rules["number"] = " | ".join(literal(str(i)) for i in range(len(texts), 0, -1))
    rules["char"] = r"[^\[\];&\x7F\x00-\x1F]"
    return "\n".join(f"{name} ::= {body}" for name, body in rules.items())


def parse_pointing(text: str, count: int) -> tuple[PointedPart, ...]:
    """What the model points at; () for Unknown.

    Args:
        count: of the sentences shown.

    Raises:
        ValueError: the text is not of this format, or names no sentence that was shown.
    """
    if text.strip() == UNKNOWN:
        return ()
    parts = []
    for written in text.strip().split(" & "):
        match = _PART.fullmatch(written)
        if match is None:
            raise ValueError("the model's output names no sentences")
        found: set[int] = set()
        for piece in match["where"].split(","):
            first, _, last = piece.partition("-")
            found.update(range(int(first), min(int(last or first), count) + 1))
        found = {number - 1 for number in found if 1 <= number <= count}
        if not found:
            raise ValueError("the model's output names sentences that were not shown")
        answers = tuple(dict.fromkeys(one.strip() for one in (match["answers"] or "").split("; ") if one.strip()))
        parts.append(PointedPart(tuple(sorted(found)), answers))
    return tuple(parts)


def gives_way(question: str, completion: Generation, part: PointedPart) -> bool:
    """Whether the sentences tell more than an output's only answer: a reason is asked for, or the model chose the
    answer's first word with little probability."""
    if len(part.answers) != 1 or are_verdicts(part.answers):
        return False
    if _ASKS_REASON.search(question):
        return True
    at = completion.text.find(": ") + 2
    return math.exp(mean_logprob(completion, at, at + 1)) < _UNSURE  # nan, where it is unknown, is not


def written_pointing(parts: Sequence[PointedPart]) -> str:
    """The output for these parts; :func:`parse_pointing` reads it."""
    return " & ".join(_written(part) for part in parts) or UNKNOWN


def _written(part: PointedPart) -> str:
    runs: list[list[int]] = []
    for index in part.sentences:
        if runs and runs[-1][1] == index:
            runs[-1][1] = index + 1
        else:
            runs.append([index, index + 1])
    where = ",".join(str(first + 1) if last == first + 1 else f"{first + 1}-{last}" for first, last in runs)
    return where + (f": {'; '.join(part.answers)}" if part.answers else "")
