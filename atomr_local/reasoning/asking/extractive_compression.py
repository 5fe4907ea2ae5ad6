"""Extractive compression: cuts a passage to the sentences that matter for a question.

Extractive and query-focused: sentences are ranked by the word stems that they share with the question, without those of
the title. Question words are expanded by words that express the answer ("father": "son of"). The first sentence, which
says what the page is about, gets a bonus. The chosen sentences keep their order.
"""

from __future__ import annotations

from atomr_local.language.names import comparable
from atomr_local.language.scripts import first_words, size_in_words
from atomr_local.language.sentences import sentences
from atomr_local.language.words import english, first_letters

_FIRST_SENTENCE = 0.5
GAP = "…"


def word_budgets(words: int, count: int, *, whole: bool) -> list[int]:
    """Words of each of `count` passages, best first.

    The first passage answers most look-ups, so the others get half of `words`: on 2Wiki's hops the answer stays in
    96.4% of the prompts with 77% of the words (`scripts/measure_cutting.py`). A passage read alone gets twice as many.
    A whole question (`whole`) needs several passages equally, so each gets seven tenths.
    """
    if count == 1:
        return [2 * words]
    if whole:
        return [max(words * 7 // 10, 1)] * count
    return [words if index == 0 else max(words // 2, 1) for index in range(count)]


def _stems(text: str) -> set[str]:
    return {first_letters(word) for word in comparable(text) if word not in english().stop}


def cut_passage(question: str, title: str, text: str, budget: int) -> str:
    """At most about `budget` words of the text: its best sentences for the question, with gaps marked.

    A single sentence over the budget is cut after the last word that fits.
    """
    if size_in_words(text) <= budget:
        return text
    asked = {word for word in comparable(question) if word not in english().stop}
    wanted = {first_letters(word) for word in asked} - _stems(title)
    widened = {first_letters(told) for word in asked for told in english().told_by.get(word, ())} - wanted
    pieces = [text[begin:end] for begin, end in sentences(text)]
    pieces = [piece for piece in pieces if piece.strip()]

    def score(index: int) -> float:
        stems = _stems(pieces[index])
        return len(stems & wanted) + 0.7 * bool(stems & widened) + (_FIRST_SENTENCE if index == 0 else 0.0)

    kept: set[int] = set()
    room = budget
    for index in sorted(range(len(pieces)), key=lambda i: (-score(i), i)):
        size = size_in_words(pieces[index])
        if size <= room:
            kept.add(index)
            room -= size
        elif not kept:
            return first_words(pieces[index], budget)
    parts: list[str] = []
    for index in sorted(kept):
        if index and index - 1 not in kept and parts:
            parts.append(GAP)
        parts.append(pieces[index].strip())
    return " ".join(parts)
