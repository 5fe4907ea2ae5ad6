"""Whether a question that a model writes repeats an earlier one."""

from __future__ import annotations

from collections.abc import Sequence

from atomr_local.language.answer_key import answer_key
from atomr_local.language.names import name_key
from atomr_local.strategies.protocol import Toolbox

_ALIKE = 0.95  # cosine from which two questions are the same
_MARKS = "?!.,;:'\"“”"


def asked_before(question: str, earlier: Sequence[str], tools: Toolbox) -> bool:
    """Whether it is equal to an earlier one but for case, articles and punctuation, or the embedder finds them alike.

    The embedder decides only between questions with the same question word, names and numbers: where and when, Henry IV
    and Henry V are near each other in every embedding.
    """
    if _key(question) in map(_key, earlier):
        return True
    same = [asked for asked in earlier if _about(asked) == _about(question)]
    alike = tools.ranking.alike(question, same, tools.cancellation)
    return alike is not None and alike >= _ALIKE


def _key(question: str) -> str:
    return answer_key(name_key(question))


def _about(question: str) -> tuple[str, frozenset[str]]:
    """The question word, and the names and numbers."""
    first, *others = question.split() or [""]
    return first.casefold(), frozenset(word.strip(_MARKS) for word in others if not word[:1].islower())
