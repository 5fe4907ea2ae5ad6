"""Write reasoning trees for 2WikiMultihopQA questions from their gold evidence.

    scripts/gold_plans.py --questions questions.jsonl --out plans.jsonl [--limit N]

A plan holds only what a planner could know from the question: the names in it and the kind of step to take. Names of
entities on the way (the director, the father) and answers never enter it; they stay references. Input lines need
"question", "answers", "type" and "evidences", a list of [head, relation, tail]. Output lines hold
{"id", "question", "answers", "type", "plan"} with the plan in compact notation.
"""

from __future__ import annotations

import argparse
import json
import re
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from atomr_local.language.names import split_qualifier
from atomr_local.reasoning.planning.coverage import find_name
from atomr_local.tree.calls import format_call
from atomr_local.tree.compact import parse_compact
from atomr_local.tree.nodes import Literal, Operator, OperatorCall
from atomr_local.tree.validation import Limits, validate
from training.files import read_lines, write_lines

Fact = tuple[str, str, str]

_PERSONS = {
    "director", "performer", "composer", "father", "mother", "spouse", "child", "sibling", "founded by", "author",
    "screenwriter", "producer", "creator",
}  # fmt: skip
_WORDINGS = {
    "founded by": "Who founded {}?",
    "date of birth": "When was {} born?",
    "date of death": "When did {} die?",
    "place of birth": "Where was {} born?",
    "place of death": "Where did {} die?",
    "publication date": "When did {} come out?",
    "inception": "When was {} founded?",
    "educated at": "Where did {} study?",
    "award received": "Which award did {} receive?",
    "country": "In which country is {}?",
    "located in the administrative territorial entity": "In which administrative area is {}?",
}

# These look at the wording of 2WikiMultihopQA alone; the program itself guesses no kinds.
# What has these is a person; the head of any other relation may be anything.
_OF_PERSONS = {
    "father", "mother", "spouse", "sibling", "child", "date of birth", "date of death", "place of birth",
    "place of death", "country of citizenship",
}  # fmt: skip
# What the head of a relation is, where the relation says so. A song has a composer too, so composer does not.
_KINDS = {"director": "film", "performer": "song"}
_KIND_WORDS = (
    "film|song|album|magazine|company|band|novel|book|play|opera|ballet|painting|newspaper|planet|moon|element|river|lake"
    "|island|mountain|city|town|village|country|university|school|ship|club|team|language"
)
# With a year, "of" may stand between: "the 1948 film of Hamlet". Without one, "songs of" is followed by who made them.
_NAMED_KIND = re.compile(
    rf"\b(?:(?P<dated>(?:1\d|20)\d\d (?:{_KIND_WORDS}))(?: of)?|(?P<kind>{_KIND_WORDS})s?)\b[\s:]*$", re.IGNORECASE
)


class NoPlan(ValueError):
    """The evidence of a record is not one from which a tree can be written."""


@dataclass(frozen=True)
class _Line:
    """A node before numbering: `key` names it in texts as `{key}`."""

    key: str
    text: str
    children: tuple[_Line, ...] = ()


def descriptor(name: str, relation: str, question: str) -> str:
    """What kind of thing the question says the name is, such as "1923 film"; "" where it does not say."""
    bare = split_qualifier(name)[0]
    place = find_name(bare, question)
    if place >= 0:
        after = re.match(r"\s*\(([^()]*)\)", question[place + len(bare) :])
        if after:
            return after[1].lower()
        before = _NAMED_KIND.search(question[:place])
        if before:
            return (before["dated"] or before["kind"]).lower()
    return _KINDS.get(relation, "")


def search_for(name: str, relation: str, question: str) -> tuple[str, OperatorCall]:
    """The Search for a name whose relation is asked for, and its question."""
    kind = descriptor(name, relation, question)
    asked = "Who" if not kind and relation in _OF_PERSONS else "What"
    arguments = (Literal(name), Literal(kind)) if kind else (Literal(name),)
    return f"{asked} is {name}?", OperatorCall(Operator.SEARCH, arguments)


def _search(name: str, relation: str, question: str, key: str) -> _Line:
    asked, call = search_for(name.replace('"', "'"), relation, question)
    return _Line(key, f"{asked} = {format_call(call)}")


def ask(relation: str, head: str) -> str:
    default = "Who is the {relation} of {}?" if relation in _PERSONS else "What is the {relation} of {}?"
    return _WORDINGS.get(relation, default).format(head, relation=relation)


def _relate(key: str, head: str, relation: str) -> _Line:
    return _Line(key, f"{ask(relation, f'{{{head}}}')} = Relate({{{head}}}, {json.dumps(relation)})")


def _steps(chain: Sequence[Fact], question: str, key: str) -> tuple[_Line, ...]:
    """Search for the head of the chain's first fact, then one Relate for each hop."""
    head = f"{key}s"
    lines = [_search(chain[0][0], chain[0][1], question, head)]
    for number, (_, relation, _) in enumerate(chain, start=1):
        lines.append(_relate(f"{key}{number}", head, relation))
        head = f"{key}{number}"
    return tuple(lines)


def _chain_plan(chain: Sequence[Fact], question: str) -> list[_Line]:
    if len(chain) == 1:
        return list(_steps(chain, question, "a"))
    name, relation, _ = chain[0]
    lines = [_Line("h1", ask(relation, name), _steps(chain[:1], question, "a"))]
    for number, (_, hop, _) in enumerate(chain[1:], start=2):
        lines.append(_relate(f"h{number}", f"h{number - 1}", hop))
    return lines


def _comparison_plan(chains: Sequence[Sequence[Fact]], question: str) -> list[_Line]:
    lines = []
    for number, chain in enumerate(chains, start=1):
        head = chain[0][0]
        for _, relation, _ in chain[:-1]:
            head = f"the {relation} of {head}"
        lines.append(_Line(f"c{number}", ask(chain[-1][1], head), _steps(chain, question, f"c{number}")))
    given = ", ".join(f"{{c{number}}}" for number in range(1, len(chains))) + f" and {{c{len(chains)}}}"
    lines.append(_Line("d", f"Given answers of {given}, {question[:1].lower()}{question[1:]}"))
    return lines


def _number(lines: Sequence[_Line]) -> str:
    """The compact notation, nodes numbered breadth first."""
    order: list[str] = []
    level = list(lines)
    while level:
        order.extend(line.key for line in level)
        level = [child for line in level for child in line.children]
    ids = {key: number for number, key in enumerate(order, start=1)}

    def write(line: _Line, depth: int) -> Iterator[str]:
        text = re.sub(r"\{(\w+)\}", lambda match: f"[{ids[match[1]]}]" if match[1] in ids else match[0], line.text)
        yield f"{' ' * depth}{ids[line.key]}. {text}"
        for child in line.children:
            yield from write(child, depth + 1)

    return "\n".join(text for line in lines for text in write(line, 0))


def plan(record: Mapping[str, Any]) -> str:
    """The compact tree of one record.

    Raises:
        NoPlan: its evidence is missing or of a shape that none of the four question types has.
    """
    question = str(record["question"])
    facts: list[Fact] = [(str(s), str(p), str(o)) for s, p, o in record.get("evidences") or ()]
    kind = record.get("type")
    if kind in {"compositional", "inference"} and facts:
        lines = _chain_plan(facts, question)
    elif kind == "comparison" and len(facts) >= 2:
        lines = _comparison_plan(_in_question_order([[fact] for fact in facts], question), question)
    elif kind == "bridge_comparison" and len(facts) >= 4 and len(facts) % 2 == 0:
        half = len(facts) // 2
        # The second hops stand in the order of the first ones; they are not joined by name, for an entity may be
        # written differently as tail and as head.
        chains = [[facts[i], facts[half + i]] for i in range(half)]
        lines = _comparison_plan(_in_question_order(chains, question), question)
    else:
        raise NoPlan(f"type {kind!r} with {len(facts)} facts")
    return _number(lines)


def _in_question_order(chains: Iterable[list[Fact]], question: str) -> list[list[Fact]]:
    return sorted(
        chains, key=lambda chain: place if (place := find_name(chain[0][0], question)) >= 0 else len(question)
    )


def write_plans(records: Iterable[Mapping[str, Any]], limit: int | None = None) -> Iterator[dict[str, Any]]:
    """A line of output for each record that a valid tree can be written for; the others are told on standard error."""
    written = 0
    for record in records:
        if limit is not None and written >= limit:
            return
        try:
            compact = plan(record)
            problems = validate(parse_compact(compact, record["question"]), Limits())
            if problems:
                raise NoPlan(problems[0].message)
        except (NoPlan, ValueError, KeyError) as error:
            print(f"{record.get('id')}: {error}", file=sys.stderr)
            continue
        written += 1
        yield {key: record[key] for key in ("id", "question", "answers", "type")} | {"plan": compact}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--questions", type=Path, required=True)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--limit", type=int, default=None)
    given = parser.parse_args()
    records = read_lines(given.questions)
    plans = list(write_plans(records, given.limit))
    write_lines(given.out, plans)
    print(f"{len(plans)} plans of {len(records)} questions", file=sys.stderr)
