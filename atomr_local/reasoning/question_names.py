"""What a question names: what may be looked up of it."""

from __future__ import annotations

from atomr_local.language.capitalised import names_in
from atomr_local.language.names import words
from atomr_local.language.words import english


def named_in(question: str) -> tuple[str, ...]:
    """What an input may name of the question: its capitalised names, and its words without those that say nothing."""
    small, runs = english().stop, [list[str]()]
    for word in question.split():
        if all(key in small for key in words(word)):
            runs.append([])
        else:
            runs[-1].append(word)
    return tuple(dict.fromkeys((*names_in([question]), *(" ".join(run) for run in runs if run)))) or (question,)
