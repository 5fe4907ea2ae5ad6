"""Whether an answer over documents is right, by the kind of its question; for measuring and for calibration."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any

from atomr_lab.evaluation.metrics import score_answer

from atomr_local.language.names import words
from atomr_local.reasoning.trace.schema import Trace

QUOTED = frozenset("hwdimu")
_SAME, _COVERED, _MOST_WORDS = 0.5, 0.6, 45


def share(wanted: str, given: str) -> float:
    """The share of the wanted words that the given text has, as bags of words."""
    one, other = Counter(words(wanted)), Counter(words(given))
    return sum((one & other).values()) / max(1, sum(one.values()))


def overlap(one: str, other: str) -> float:
    """Token F1 of two texts."""
    recall, precision = share(one, other), share(other, one)
    return 2 * recall * precision / (recall + precision) if recall + precision else 0.0


def quoted(trace: Trace) -> str:
    """The text that the answer quotes; empty where it quotes none."""
    texts = {item.id: item.text for item in trace.evidence}
    marked = [quote for node in trace.nodes if node.parent is None for quote in node.quotes]
    return " ".join(texts[q["evidence"]][slice(*q["span"])] for q in marked if q["evidence"] in texts)


def is_right(row: dict[str, Any], answers: Sequence[str], quoted: str) -> bool:
    """Whether the answers are right.

    Args:
        row: "kind", "quote" (the text that answers), "answers" and "also" (short answers).
        quoted: the sentences that are shown with the answer.
    """
    given = " ".join(answers)
    if not given:
        return False
    wanted = [*row["answers"], *row.get("also", ())]
    if row["kind"] in "yc":
        return any(share(answer, given) == 1.0 for answer in wanted)
    if row["kind"] in QUOTED or not row["answers"]:
        told = quoted or given  # a short answer is shown with its sentences
        long = len(words(told)) <= 4 * max(8, len(words(row["quote"])))
        return overlap(row["quote"], told) >= _SAME or (share(row["quote"], told) >= _COVERED and long)
    if row["kind"] in "lt":
        told_of = [share(answer, given) >= 0.75 for answer in row["answers"]]
        short = len(words(given)) <= 8 * len(words(" ".join(row["answers"])))
        return sum(told_of) >= 0.75 * len(told_of) and short
    best = max(score_answer(given, answer).f1 for answer in wanted)
    return best >= 0.6 or (any(share(a, given) == 1.0 for a in wanted) and len(words(given)) <= _MOST_WORDS)
