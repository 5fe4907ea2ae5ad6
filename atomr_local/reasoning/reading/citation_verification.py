"""The citation check: does the cited evidence contain the answer?"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from atomr_local.language.literals import parse_date
from atomr_local.language.names import name_key, words
from atomr_local.language.words import english, first_letters
from atomr_local.sources.protocol import Evidence

_VERDICTS = {"yes", "no"}


def holds(answer: str, evidence: Evidence) -> bool:
    """Whether the evidence's title, text or rows contain the answer's words in order; dates in any usual form."""
    wanted = words(name_key(answer))
    if not wanted:
        return False
    rows = evidence.locator.get("rows") or ()
    stored = (str(value) for row in rows for value in row.values()) if isinstance(rows, list | tuple) else ()
    haystacks = [evidence.title, evidence.text, *stored]
    needle = f" {' '.join(wanted)} "
    if any(needle in f" {' '.join(words(name_key(hay)))} " for hay in haystacks):
        return True
    date = parse_date(answer, bare_year=False)
    return date is not None and any(parse_date(hay) == date for hay in haystacks[2:])


def mentioned_share(question: str, evidence: Iterable[Evidence]) -> float | None:
    """The share of the question's content words that titles and texts of the evidence contain, in any form or as a
    synonym; None if the question has no content word.

    Many questions that a passage only seems to answer ask about something that it does not mention (Rajpurkar, Jia and
    Liang, ACL 2018, section 3, on the types of unanswerable questions).
    """
    asked = {word for word in words(name_key(question)) if word not in english().stop}
    if not asked:
        return None
    held = {first_letters(word) for item in evidence for word in words(name_key(f"{item.title} {item.text}"))}
    found = sum(any(first_letters(form) in held for form in (word, *english().told_by.get(word, ()))) for word in asked)
    return found / len(asked)


def are_verdicts(answers: Sequence[str]) -> bool:
    """Whether all answers are yes or no."""
    return all(answer.casefold() in _VERDICTS for answer in answers)


def supported(answers: Sequence[str], cited: Sequence[Evidence]) -> bool | None:
    """Whether the cited evidence contains every answer; None for yes/no, which no passage contains."""
    if not answers or are_verdicts(answers):
        return None
    return all(any(holds(answer, item) for item in cited) for answer in answers)


def agreement(answers: Sequence[str], evidence: Sequence[Evidence]) -> float | None:
    """Share of the answers that evidence from two places contains: two pages, or a page and the graph.

    None if there are no two places to compare, or for yes/no.
    """
    places = {(item.source, item.title) for item in evidence}
    if len(places) < 2 or not answers or are_verdicts(answers):
        return None
    held = [{(item.source, item.title) for item in evidence if holds(answer, item)} for answer in answers]
    return sum(len(found) > 1 for found in held) / len(held)
