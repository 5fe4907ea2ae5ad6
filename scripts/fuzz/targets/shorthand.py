"""A plan as a model writes it, shorthand included: what comes of it can be run, or it is a complaint."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from atomr_local.reasoning.planning.coverage import with_searches
from atomr_local.reasoning.planning.planner import Planner
from atomr_local.tree.nodes import renumbered
from atomr_local.tree.validation import Limits, validate
from fuzz.properties import as_text, expect
from fuzz.targets.compact import use

INSTRUMENTED = (
    "atomr_local.tree", "atomr_local.reasoning.planning.coverage", "atomr_local.reasoning.planning.plan_repairs",
    "atomr_local.reasoning.planning.planner",
)  # fmt: skip
DICTIONARY = (
    b"1. ", b"2. ", b" 3. ", b" = ", b'Search("', b'Relate("', b"Relate([1], ", b"Filter([1], ", b'", "', b'")',
    b"[1]", b"[2]", b"\n", b'"director"', b'"father"', b"Given answers of [1] and [2], ", b"Hamlet", b"(1948 film)",
    b"the film ", "\u0130".encode(), "\ufb01".encode(), "\u0345".encode(), "\u1e9e".encode(), b"the ", b"II",
)  # fmt: skip


def seeds() -> Iterator[bytes]:
    yield b'Who directed the film Hamlet?\n1. Who directed Hamlet? = Relate("Hamlet", "director")'
    yield (
        b'Who is older, Ann Lee or the father of Bob Ray?\n1. When was Ann Lee born? = Relate("Ann Lee", "date of birth")\n'
        b'2. Who is the father of Bob Ray? = Relate("Bob Ray", "father")\n'
        b'3. When was [2] born? = Relate([2], "date of birth")\n4. Given answers of [1] and [3], who is older?'
    )
    yield (
        b"is slovenia or lebanon bigger in miles\n0. Is Slovenia or Lebanon bigger? = Answer(yes/no)\n"
        b'1. What is the area of Slovenia? = Relate("Slovenia", "area")\n'
        b'2. What is the area of Lebanon? = Relate("Lebanon", "area")\n3. Which? = Is([1], [2], "larger")'
    )
    yield (
        b'the largest neighbour\n0. Which? = Answer(place)\n1. Who borders Mali? = Relate("Mali", "neighbours")\n'
        b'2. Which of [1]? = Filter([1], "largest")'
    )
    yield b'Is Hamlet (1948 film) long?\n1. a\n 2. b Hamlet = Search("Hamlet", "1948 film")\n 3. c [2] = Filter([2], "long")'


def check(data: bytes) -> None:
    question, _, text = as_text(data).partition("\n")
    planner: Any = Planner.__new__(Planner)  # without a model, which reading a plan does not need
    planner.limits = Limits()
    tree, complaint = planner._read(text, question)
    expect((tree is None) == bool(complaint), "a tree or a complaint", complaint)
    if tree is None:
        return
    use(tree)
    expect(not any(problem.fatal for problem in validate(tree)), "a plan that is taken can be run", text)
    expect(renumbered(renumbered(tree)) == renumbered(tree), "numbering again changes nothing", text)
    again = with_searches(tree)
    expect(with_searches(again) == again, "searches are put in once", text)
