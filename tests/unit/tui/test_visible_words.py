"""What people read in the terminal UI, plain mode and answers of the command line: none of the program's inner words."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

import atomr_local

PACKAGE = Path(atomr_local.__file__).parent
ROOMS = sorted(
    path
    for place in (
        "tui",
        "cli/plain.py",
        "cli/asking.py",
        "reasoning/trace/schema.py",
        "reasoning/trace/telling.py",
        "reasoning/verdict",
    )
    for path in ([PACKAGE / place] if place.endswith(".py") else (PACKAGE / place).rglob("*.py"))
)
INNER = re.compile(
    r"\b(operators?|rag(?!\.\w)|(?<!plan )beams?|scores?|signals?|fallback|nodes?|root|siblings?|symbolic|closed.book"
    r"|direct.rag|retriev\w*|logprobs?|rerank\w*|recorder|citation holds|is whole|whole:|state:|payload|null score"
    r"|bool|stdout|stderr|exception|traceback|thread|subprocess)\b",
    re.IGNORECASE,
)
_SENTENCE = re.compile(r"[A-Za-z]{2,}[^\w]*\s+[^\w]*[A-Za-z]{2,}|^[A-Z][a-z]+")  # two words, or a title
_CODE = re.compile(r"[{};]\s*\n|^\s*(PREFIX|SELECT|#[a-z])|\\[wbs]|\(\?[:P!=<]|^[a-z_.]+$|height: |width: |border: ")
_UNSEEN = {"getLogger", "debug", "exception", "compile", "ValueError", "KeyError", "TypeError", "RuntimeError"}
_NOT_SHOWN = {"DEFAULT_CSS", "CSS", "_QUERY", "__all__"}


def _parts(tree: ast.AST) -> Iterator[ast.AST]:
    """Everything that may be shown: no docstrings, annotations, styles, patterns and internal errors."""
    for child in ast.iter_child_nodes(tree):
        match child:
            case ast.Expr(value=ast.Constant()):
                continue
            case ast.Assign(targets=[ast.Name(id=name)]) if name in _NOT_SHOWN:
                continue
            case ast.Call(func=ast.Attribute(attr=name) | ast.Name(id=name)) if name in _UNSEEN:
                continue
        if child in (getattr(tree, "annotation", None), getattr(tree, "returns", None)):
            continue
        yield child
        yield from _parts(child)


def visible(file: Path) -> Iterator[tuple[int, str]]:
    """The texts of a module that a person may read, with their lines; of an f-string its fixed parts."""
    for part in _parts(ast.parse(file.read_text(encoding="utf-8"))):
        match part:  # one word of a line in the pane of a step
            case ast.Call(func=ast.Name(id="field"), args=[ast.Constant(value=str(label)), *_]):
                yield part.lineno, label
        if isinstance(part, ast.Constant) and isinstance(part.value, str):
            text = part.value
            if _SENTENCE.search(text) and not _CODE.search(text):
                yield part.lineno, text


@pytest.mark.parametrize("file", ROOMS, ids=lambda file: str(file.relative_to(PACKAGE)))
def test_no_visible_text_has_an_inner_word(file: Path) -> None:
    found = [f"{line}: {text!r}" for line, text in visible(file) if INNER.search(text)]
    assert not found


def test_the_scan_sees_what_people_read() -> None:
    seen = " ".join(text for file in ROOMS for _, text in visible(file))
    for text in (
        "No steps yet.",
        "Edit the plan as text",
        "read from the evidence",
        "It rests on ",
        "Try one of these",
    ):
        assert text in seen
    assert "Removed: C0" not in seen
    assert len(seen) > 10_000
    assert INNER.search("method: operator on the evidence")
    assert INNER.search("answered by direct RAG")
