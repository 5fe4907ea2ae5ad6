"""Make examples of the task `next` from plans: a question and its answered steps, then the next question, or Done.

    scripts/build_next_data.py --plans training.jsonl natural.jsonl --out next.jsonl

The plans are those of the files' lines of the task "plan". Each chain is unrolled: after every look-up comes the next
one, with what was found in place of references; after the last one comes Done. What is found is drawn by chance from
names that the plans ask the same things about: as for composed questions, only the form counts, and a model that may
not know the answers has to copy them. Some steps find nothing; what rests on them is not asked.

Left out: plans whose steps ask about each of several things, for there the next question is no single one, and plans
with steps about computed values. Seeded: the same input gives the same file.
"""

from __future__ import annotations

import argparse
import random
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path

from atomr_local.language.literals import MONTHS
from atomr_local.models.templates import render
from atomr_local.tree.calls import NO_QUESTION, REFERENCE, AnswerType
from atomr_local.tree.compact import parse_compact
from atomr_local.tree.nodes import Literal, Node, NodeKind, Tree
from atomr_local.tree.operations import Operation
from training.examples import example, parts_kept, print_kinds
from training.files import Line, read_lines, write_lines

DONE = "Done"
_NOTHING_FOUND = "Unknown"
_LOOK_UPS = frozenset({NodeKind.SEARCH, NodeKind.RELATE, NodeKind.FILTER})
_OVER_MEMBERS = frozenset({Operation.COMPARE, Operation.TOP, Operation.SORT, Operation.SELECT, Operation.EACH})
# Of 100 steps, how many find nothing; of a chain, how many of its examples are kept at most.
_LOST = 5
_MOST_OF_CHAIN = 2
_UNITS = ("metres", "kilometres", "people", "square kilometres", "years", "kilograms", "million", "")
# What a question opens with, where its answer is asked nothing further, and a relation whose subjects are alike.
_ALIKE = {"who": "date of birth", "whom": "date of birth", "whose": "date of birth", "where": "country"}
Names = dict[str, list[str]]
"""Relation → what the plans ask it about."""


def look_ups(tree: Tree) -> list[Node] | None:
    """The look-ups of a plan, in the order of execution; None where its steps are no chain of single questions."""
    if tree.is_direct:
        expected = tree.expects.type if tree.expects is not None else None
        return None if expected is None or expected in {*NO_QUESTION, AnswerType.SUMMARY} else [tree.root]
    found = [node for node in tree.bottom_up() if node.kind in _LOOK_UPS]
    ids = {node.id for node in found}
    for node in tree.nodes():
        if node.operation is not None and node.operation.operation in _OVER_MEMBERS and len(node.references) == 1:
            return None
    if any(_source_of(tree, one) not in ids for node in found for one in node.references):
        return None
    return found


def _source_of(tree: Tree, node_id: int) -> int:
    """The step that answers a node: its own, or the last one below it."""
    node = tree.node(node_id)
    while node.children:
        node = node.children[-1]
    return node.id


def names_by_relation(trees: Iterable[Tree]) -> Names:
    names: dict[str, dict[str, None]] = {}
    for tree in trees:
        for node in tree.nodes():
            if node.kind is NodeKind.RELATE and node.call is not None:
                about, relation = node.call.arguments[0], node.call.arguments[-1]
                if isinstance(about, Literal) and isinstance(relation, Literal):
                    names.setdefault(relation.text, {})[about.text] = None
    return {relation: list(found) for relation, found in names.items() if len(found) > 1}


class Unrolling:
    """Turns plans into examples.

    Args:
        names: what answers are drawn from.
    """

    def __init__(self, names: Names, chance: random.Random) -> None:
        self._names = names
        self._chance = chance
        self._every = sorted({name for found in names.values() for name in found})

    def examples(self, source: str, question: str, tree: Tree) -> Iterator[Line]:
        """The examples that are kept of a plan's chain: of a long one not all."""
        made = list(self._all(question, tree))
        for steps, answer in self._chance.sample(made, min(_MOST_OF_CHAIN, len(made))):
            lines = "\n".join(f"{number}. {asked} {found}" for number, (asked, found) in enumerate(steps, 1))
            prompt = render("atomr_local.reasoning.reading", "lean_next", (), steps=lines, question=question)
            yield example("next", source, prompt, answer)

    def _all(self, question: str, tree: Tree) -> Iterator[tuple[list[tuple[str, str]], str]]:
        nodes = look_ups(tree)
        if nodes is None:
            return
        found: dict[int, str] = {}
        steps: list[tuple[str, str]] = []
        for node in nodes:
            needed = {one: found.get(_source_of(tree, one), _NOTHING_FOUND) for one in node.references}
            if _NOTHING_FOUND in needed.values():
                continue
            asked = _filled(node.question, needed)
            yield list(steps), asked
            lost = self._chance.randrange(100) < _LOST
            found[node.id] = _NOTHING_FOUND if lost else self._found(node, tree)
            steps.append((asked, found[node.id]))
        yield steps, DONE

    def _found(self, node: Node, tree: Tree) -> str:
        """What might answer the step: something of the kind that a later step asks about, or that its words ask for."""
        for later in tree.nodes():
            if (
                later.kind is NodeKind.RELATE
                and later.call is not None
                and node.id in (_source_of(tree, one) for one in later.call.references)
            ):
                relation = later.call.arguments[-1]
                if isinstance(relation, Literal) and relation.text in self._names:
                    return self._chance.choice(self._names[relation.text])
        opening = node.question.casefold().split(" ")
        chance = self._chance
        if opening[0] == "when" or opening[:2] in (["which", "year"], ["what", "year"]):
            year = str(chance.randint(1500, 2020))
            return chance.choice((year, f"{chance.randint(1, 28)} {chance.choice(MONTHS)} {year}"))
        if opening[0] == "how":
            amount = chance.choice((f"{chance.randint(1, 200):,}", f"{chance.randint(1000, 9_000_000):,}"))
            return f"{amount} {chance.choice(_UNITS)}".strip()
        if opening[0] in {"is", "are", "does", "do", "did", "was", "were", "has", "have"}:
            return chance.choice(("yes", "no"))
        return chance.choice(self._names.get(_ALIKE.get(opening[0], ""), self._every))


def _filled(question: str, found: Mapping[int, str]) -> str:
    return REFERENCE.sub(lambda match: found[int(match[1])], question)


def unrolled(plans: Sequence[Line], chance: random.Random) -> Iterator[Line]:
    """Examples of the task `next` from lines of the task "plan"; each plan once."""
    distinct = {(line["messages"][-1]["content"], line["answer"]): line for line in plans if line["task"] == "plan"}
    trees = [(line, asked, parse_compact(plan)) for (asked, plan), line in distinct.items()]
    unrolling = Unrolling(names_by_relation(tree for _, _, tree in trees), chance)
    for line, asked, tree in trees:
        yield from unrolling.examples(line["source"], asked, tree)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--plans", type=Path, nargs="+", required=True, help="training data with plans")
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--share", nargs="*", default=[], metavar="SOURCE=PART", help="keep this part of a source")
    parser.add_argument("--seed", type=int, default=0)
    given = parser.parse_args()
    chance = random.Random(given.seed)
    made = list(unrolled([line for path in given.plans for line in read_lines(path)], chance))
    made = parts_kept(made, given.share, "{source}", chance)
    chance.shuffle(made)
    write_lines(given.out, made)
    print_kinds(made)
