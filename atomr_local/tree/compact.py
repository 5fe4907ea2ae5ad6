r"""The compact notation: an outline, one question per line, about half the tokens of the paper's JSON.

    0. Who is the father-in-law of Queen Hyojeong?
    1. Who is Queen Hyojeong's husband?
     3. Who is Queen Hyojeong? = Search("Queen Hyojeong")
     4. Who is [3]'s husband? = Relate([3], "husband")
    2. Who is the father of [1]? = Relate([1], "father")

A line is `id. question`, deeper by any number of spaces than its parent (one is written). ` = Operator(…)` after the
question makes it an operator leaf; one of the operations of :mod:`atomr_local.tree.operations`, such as
` = Compare([1], [3], "earlier")`, makes it computed; ` = Direct("…")` a direct leaf with an instruction; a leaf with
none of these is direct. Line `0.` holds the root's question, as understood, and may hold the answer that it expects,
`0. Who wrote Emma? = Answer(person)`. It may be left out where the question is known and the root has children.

The parser accepts names of operators and operations in any letter case.

Questions and quoted arguments use the escapes of :mod:`atomr_local.tree.errors`. Questions also write a white space
character at either end as `\uXXXX`, `=` as `\=` if an operator would be read after it, and `[` as `\[` if the line
would seem to end inside a reference.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field

from atomr_local.tree.calls import (
    ANSWER,
    Expects,
    Operator,
    format_call,
    format_expects,
    parse_call,
    parse_expects,
    parse_quoted,
)
from atomr_local.tree.errors import TreeError, check_count, check_depth, check_size, code_point, escape, quote, unescape
from atomr_local.tree.nodes import ROOT_ID, Node, OperatorCall, Tree
from atomr_local.tree.operations import Operation, OperationCall, format_operation, named_operation, parse_operation

_DIRECT = "Direct"
_LINE = re.compile(r"( *)(0|[1-9][0-9]{0,3})\. +(\S.*)", re.DOTALL)
_ROOT_LINE = re.compile(r" *0\. ")
_BEGINNINGS = "|".join(
    sorted(
        {name[:n] for name in (*Operator, *Operation, _DIRECT, ANSWER) for n in range(1, len(name) + 1)}, reverse=True
    )
)
# `=` that begins an operator, whole or cut off at the end of the line.
_ASSIGNMENT = re.compile(rf"(?:^|(?<= ))=(?= [A-Za-z]\w*\(| ?\Z| (?:{_BEGINNINGS})\Z)")
_OPEN_REFERENCE = re.compile(r"(?<!\\)\[(?=[0-9]*\Z)")


@dataclass(slots=True)
class _Draft:
    """A node while its children are still being read."""

    id: int
    question: str
    indent: int
    line: int
    depth: int
    call: OperatorCall | None = None
    instruction: str = ""
    operation: OperationCall | None = None
    expects: Expects | None = None
    children: list[_Draft] = field(default_factory=list)

    def build(self) -> Node:
        children = tuple(child.build() for child in self.children)
        return Node(self.id, self.question, self.call, children, self.instruction, self.operation, self.expects)


def parse_compact(text: str, question: str | None = None) -> Tree:
    """Read one tree. `question` is the root's question if the text has no line `0.`.

    Raises:
        TreeError: the text is not a tree in this notation; it names the line.
    """
    if not isinstance(text, str):
        raise TreeError("the plan is not text")
    check_size(len(text))
    lines = [(number, line.rstrip()) for number, line in enumerate(text.split("\n"), 1) if line.strip()]
    drafts: list[_Draft] = []
    if lines and _ROOT_LINE.match(lines[0][1]):
        number, line = lines.pop(0)
        drafts.append(_parse_line(line, number))
    elif question is not None and question.strip():
        drafts.append(_Draft(ROOT_ID, question, indent=-1, line=0, depth=0))
        if not lines:
            raise TreeError("the plan is empty")
    else:
        raise TreeError("the root is missing: begin with a line `0. question`" if lines else "the plan is empty")
    drafts[0].indent = -1
    _attach(drafts, lines)
    return Tree(drafts[0].build())


def _attach(drafts: list[_Draft], lines: list[tuple[int, str]]) -> None:
    """Read `lines` below the root in `drafts`, each draft under its parent by indentation."""
    seen = {ROOT_ID: drafts[0].line}
    path = [drafts[0]]
    for number, line in lines:
        draft = _parse_line(line, number)
        if draft.id in seen:
            where = f"line {seen[draft.id]}" if seen[draft.id] else "the question itself"
            raise TreeError(f"number {draft.id} is taken by {where}", line=number)
        seen[draft.id] = number
        check_count(len(seen), line=number)
        while path[-1].indent >= draft.indent:
            path.pop()
        parent = path[-1]
        if parent.children and parent.children[0].indent != draft.indent:
            raise TreeError(f"node {draft.id} is indented unlike its neighbours", line=number)
        if parent.call is not None or parent.operation is not None or parent.instruction:
            raise TreeError(f"node {parent.id} has an operator and cannot have questions below it", line=number)
        draft.depth = parent.depth + 1
        check_depth(draft.depth, line=number)
        parent.children.append(draft)
        path.append(draft)


def _parse_line(line: str, number: int) -> _Draft:
    match = _LINE.fullmatch(line)
    if match is None:
        if "\t" in line[: len(line) - len(line.lstrip())]:
            raise TreeError("indented with a tab: use spaces", line=number)
        raise TreeError("not of the form `number. question`, or cut off", line=number)
    indent, node_id, content = len(match.group(1)), int(match.group(2)), match.group(3)
    assignment = _ASSIGNMENT.search(content)
    written = content[: assignment.start()] if assignment else content
    draft = _Draft(node_id, unescape(written.strip()), indent, number, depth=0)
    if not draft.question.strip():
        raise TreeError(f"node {node_id} has no question", line=number)
    if assignment is None:
        if _OPEN_REFERENCE.search(content):
            raise TreeError(f"node {node_id} is cut off inside a reference", line=number)
        return draft
    try:
        _assign(draft, content[assignment.end() :].strip())
    except TreeError as error:
        raise TreeError(f"node {node_id}: {error.message}", line=number) from None
    return draft


def _assign(draft: _Draft, written: str) -> None:
    """Read what follows the `=` of a line."""
    name = written.partition("(")[0].strip()
    if name == _DIRECT:
        draft.instruction = _parse_direct(written)
    elif name.casefold() == ANSWER.casefold():
        if draft.id != ROOT_ID:
            raise TreeError(f"{ANSWER} belongs to line 0, the question itself")
        draft.expects = parse_expects(written)
    elif named_operation(name) is not None:
        draft.operation = parse_operation(written)
    else:
        known = name.capitalize() in set(Operator)
        draft.call = parse_call(written.replace(name, name.capitalize(), 1) if known else written).plain()


def _parse_direct(operation: str) -> str:
    instruction = parse_quoted(operation.removeprefix(f"{_DIRECT}(").removesuffix(")"))
    if instruction is None or not operation.endswith(")"):
        raise TreeError(f"{_DIRECT} is cut off or does not hold one quoted text")
    if not instruction.strip():
        raise TreeError(f"{_DIRECT} has an empty text")
    return instruction


def _write_question(question: str) -> str:
    text = escape(question)
    if text[-1:].isspace():
        text = text[:-1] + code_point(text[-1])
    if text[:1].isspace():
        text = code_point(text[0]) + text[1:]
    return _OPEN_REFERENCE.sub(r"\\[", _ASSIGNMENT.sub(r"\\=", text))


def to_compact(tree: Tree, *, with_root: bool = False) -> str:
    """The tree in compact notation, without a newline at the end.

    The root's line is written if `with_root` is set, or if it is needed: the root is a leaf or states the expected
    answer.
    """
    lines: list[str] = []
    stack = [(tree.root, -1)]
    while stack:
        node, depth = stack.pop()
        stack.extend((child, depth + 1) for child in reversed(node.children))
        if node is tree.root and not with_root and node.children and node.expects is None:
            continue
        line = f"{' ' * max(depth, 0)}{node.id}. {_write_question(node.question)}"
        if node.call is not None:
            line += f" = {format_call(node.call)}"
        elif node.operation is not None:
            line += f" = {format_operation(node.operation)}"
        elif node.expects is not None:
            line += f" = {format_expects(node.expects)}"
        elif node.instruction:
            line += f" = {_DIRECT}({quote(node.instruction)})"
        lines.append(line)
    return "\n".join(lines)


def split_compact(text: str) -> list[tuple[int, str]]:
    """The trees of a file as (1-based number of the first line, text); each begins with its line `0.`."""
    parts: list[tuple[int, list[str]]] = []
    for number, line in enumerate(text.split("\n"), 1):
        if _ROOT_LINE.match(line) or (not parts and line.strip()):
            parts.append((number, []))
        if parts:
            parts[-1][1].append(line)
    return [(number, "\n".join(lines)) for number, lines in parts]
