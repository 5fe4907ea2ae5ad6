"""Evidence as a prompt shows it: numbered passages, one a line, cut to what matters for the question."""

from __future__ import annotations

from collections.abc import Sequence

from atomr_local.language.scripts import first_words
from atomr_local.reasoning.asking.extractive_compression import cut_passage, word_budgets
from atomr_local.sanitize import sanitize_line

# The most words of a title in a prompt. One in two thousand titles of Wikipedia has more.
_TITLE_WORDS = 10
_TITLE_CHARACTERS = 120


def shown_passages(
    question: str, passages: Sequence[tuple[str, str]], words: int, *, whole: bool, cut: bool = True
) -> list[tuple[str, str]]:
    """(title, text) of each passage for the prompt: one line, cut to what matters for the question."""
    shown = []
    for (title, text), budget in zip(passages, word_budgets(words, len(passages), whole=whole), strict=True):
        name, line = " ".join(sanitize_line(title)[:_TITLE_CHARACTERS].split()[:_TITLE_WORDS]), sanitize_line(text)
        shown.append((name, cut_passage(question, name, line, budget) if cut else first_words(line, budget)))
    return shown


def evidence_block(passages: Sequence[tuple[str, str]]) -> str:
    """Numbered passages, one a line."""
    return "\n".join(f"[{i}] {title}: {text}" for i, (title, text) in enumerate(passages, 1)) or "(no evidence)"
