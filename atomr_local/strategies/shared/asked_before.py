"""Whether a question that a model writes repeats an earlier one."""

from __future__ import annotations

from collections.abc import Sequence

from atomr_local.language.answer_key import answer_key
from atomr_local.language.names import name_key
from atomr_local.strategies.protocol import Toolbox

_ALIKE = 0.95  # cosine from which two questions are the same
_MARKS = "?!.,;:'\"“”"


def asked_before(question: str, earlier: Sequence[str], tools: Toolbox) -> bool:
    """Whether it equals an earlier one but for case, articles and punctuation, or the embedder finds them alike."""
    return alike_before(question, earlier, tools) is not None


def alike_before(question: str, earlier: Sequence[str], tools: Toolbox, least: float = _ALIKE) -> int | None:
    """The place of the earlier question that this one repeats; None if it repeats none.

    The embedder decides only between questions with the same question word, names and numbers: where and when, Henry IV
    and Henry V are near each other in every embedding.

    Args:
        least: cosine from which two questions are the same.
    """
    for place, asked in enumerate(earlier):
        if same_question(question, asked):
            return place
    about = [place for place, asked in enumerate(earlier) if _about(asked) == _about(question)]
    cosines = {place: tools.ranking.alike(question, [earlier[place]], tools.cancellation) for place in about}
    near = [place for place, cosine in cosines.items() if cosine is not None and cosine >= least]
    return max(near, key=lambda place: cosines[place] or 0.0, default=None)


def same_question(one: str, other: str) -> bool:
    """Whether they are equal but for case, articles and punctuation."""
    return _key(one) == _key(other)


def _key(question: str) -> str:
    return answer_key(name_key(question))


def _about(question: str) -> tuple[str, frozenset[str]]:
    """The question word, and the names and numbers."""
    first, *others = question.split() or [""]
    return first.casefold(), frozenset(word.strip(_MARKS) for word in others if not word[:1].islower())
