"""The paper's published notation: one flat JSON object, keyed by question (AtomR, KDD 2025, section 3.2).

    {"Who is the father-in-law of Queen Hyojeong?": ["1. Who is …'s husband?", "2. Who is the father of [1]?"],
     "1. Who is …'s husband?": ["3. Who is Queen Hyojeong?", …],
     "3. Who is Queen Hyojeong?": "Search(\\"Queen Hyojeong\\")",
     "2. Who is the father of [1]?": "[END]"}

The root is the one entry that no other names. A list holds the children, `"[END]"` marks direct reasoning, any other
text is an operator. The parser also accepts these forms of published trees:

- `"Given answers of [1] and [2], calculate the age [END]"`: direct reasoning with an instruction, if it ends in
  `[END]` or refers to a node; written back with `[END]`.
- `Filter(Relate([2], "actors"), "English")`: the inner operator becomes a node of its own, just before, with the next
  free number. So does an operator written in place of a child. Both are written back as they were.
- children numbered `3.1`: the number 301 (at most 99.99); `[3.1]` becomes `[301]`. Written back as `3.1`.

A computed node (:mod:`atomr_local.tree.operations`) is written as direct reasoning over its operands, and the expected
answer is left out: the notation has no form for either (:func:`published`).

What a round trip changes in the JSON: the quoting and spacing of operators, pieces joined by `+`, brackets and full
stops after an operator, a missing `[END]` after an instruction, a missing full stop after `3.1`. The tree stays equal.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, replace

from atomr_local.tree.calls import format_call, format_references, looks_like_call, parse_call
from atomr_local.tree.errors import MAX_ID, TreeError, check_count, check_depth, check_size, shown
from atomr_local.tree.nodes import REFERENCE, ROOT_ID, Argument, Literal, Node, OperatorCall, References, Tree

_END = "[END]"
_LABEL = re.compile(r"([1-9][0-9]{0,3})\. (.*)", re.DOTALL)
_DOTTED_LABEL = re.compile(r"([1-9][0-9]?)\.([1-9][0-9]?)\.? (.*)", re.DOTALL)
_REFERENCE_LIST = re.compile(r"\[[0-9., ]+\]")

Entries = dict[str, str | list[str]]


def parse_paper(source: object, question: str | None = None) -> Tree:
    """Read one tree from a mapping or its JSON text, bare or as `{"question": …, "reasoning_tree": {…}}`.

    `question` chooses the root if several entries are named by no other. The tree's question is the root's key.

    Raises:
        TreeError: the object is not a tree in this notation.
    """
    if isinstance(source, str):
        check_size(len(source))
        source = load_json(source)
    if isinstance(source, Mapping) and isinstance(source.get("reasoning_tree"), Mapping):
        if question is None and isinstance(source.get("question"), str):
            question = source["question"]
        source = source["reasoning_tree"]
    return _PaperParser(_check_types(source)).read(question)


def load_json(text: str) -> object:
    """Parse JSON, refusing repeated keys. The length is not bounded: the text may hold more than a tree.

    Raises:
        TreeError: the text is not JSON, is nested too deeply, or repeats a key.
    """
    try:
        value: object = json.loads(text, object_pairs_hook=_unique)
    except TreeError:
        raise
    except json.JSONDecodeError as error:
        raise TreeError(f"not JSON: {error.msg} at character {error.pos} of {shown(text, 40)}") from None
    except (ValueError, RecursionError):
        raise TreeError("not usable JSON: nested too deeply or a number too long") from None
    return value


def _unique(pairs: list[tuple[str, object]]) -> dict[str, object]:
    entries = dict(pairs)
    if len(entries) < len(pairs):
        counts = Counter(key for key, _ in pairs)
        raise TreeError(f"key twice: {shown(counts.most_common(1)[0][0])}")
    return entries


def _check_types(source: object) -> Entries:
    if not isinstance(source, Mapping):
        raise TreeError(f"a tree is a JSON object, not {_json_type(source)}")
    if not source:
        raise TreeError("the tree is empty")
    check_count(len(source))
    entries: Entries = {}
    size = 0
    for key, value in source.items():
        if not isinstance(key, str):
            raise TreeError(f"a key is {_json_type(key)}, not text")
        if isinstance(value, str):
            entries[key] = value
            size += len(key) + len(value)
            continue
        if not isinstance(value, (list, tuple)) or not all(isinstance(child, str) for child in value):
            raise TreeError(f"the value of {shown(key)} is neither text nor a list of texts")
        if not value:
            raise TreeError(f"no children in the list of {shown(key)}")
        entries[key] = list(value)
        size += len(key) + sum(len(child) for child in value)
    check_size(size)
    return entries


def _json_type(value: object) -> str:
    names = {str: "text", int: "a number", float: "a number", bool: "true or false", list: "a list", dict: "an object"}
    return "null" if value is None else names.get(type(value), type(value).__name__)


class _PaperParser:
    """Builds the tree of one mapping whose types were checked."""

    def __init__(self, entries: Entries) -> None:
        self._entries = entries
        self._parents = self._find_parents()
        self._labels = {name: _split_label(name) for name in self._parents}
        self._dotted = {
            f"{label.id // 100}.{label.id % 100}": label.id
            for label in self._labels.values()
            if label is not None and label.dotted
        }
        self._next_id = 1 + max((label.id for label in self._labels.values() if label is not None), default=0)
        self._count = 0

    def _find_parents(self) -> dict[str, str]:
        """Which entry names a child; operators written in place of a child are not named."""
        parents: dict[str, str] = {}
        for key, value in self._entries.items():
            for child in value if isinstance(value, list) else []:
                if child not in self._entries:
                    if looks_like_call(child):
                        continue
                    raise TreeError(f"no entry for the child {shown(child)}")
                if child in parents:
                    raise TreeError(f"the child {shown(child)} is named twice")
                parents[child] = key
        return parents

    def read(self, question: str | None) -> Tree:
        roots = [key for key in self._entries if key not in self._parents]
        if not roots:
            raise TreeError("the children go round in a circle")
        root = question if question in roots and question is not None else roots[0]
        if not root.strip():
            raise TreeError("the root has no question")
        self._check_reachable(root)
        self._check_numbers()
        node = self._node(root, ROOT_ID, root, depth=0)
        return Tree(node[-1])

    def _check_reachable(self, root: str) -> None:
        reached: set[str] = set()
        waiting = [root]
        while waiting:
            key = waiting.pop()
            reached.add(key)
            value = self._entries[key]
            if isinstance(value, list):
                waiting.extend(child for child in value if child in self._entries)
        for key in self._entries:
            if key in reached:
                continue
            ancestor = key
            for _ in self._entries:
                ancestor = self._parents.get(ancestor, "")
            reason = "is part of a circle" if ancestor in self._parents else "is not reached from the question"
            raise TreeError(f"the entry {shown(key)} {reason}")

    def _check_numbers(self) -> None:
        seen: dict[int, str] = {}
        for name, label in self._labels.items():
            if label is None:
                raise TreeError(f"the child {shown(name)} has no number")
            if label.id in seen:
                raise TreeError(f"number {label.id} stands for two questions: {shown(seen[label.id])}; {shown(name)}")
            if not label.question.strip():
                raise TreeError(f"node {label.id} has no question")
            seen[label.id] = name

    def _node(self, key: str, node_id: int, question: str, depth: int) -> list[Node]:
        """The node of an entry, after the nodes that its nested operators became."""
        check_depth(depth)
        self._count += 1
        check_count(self._count)
        question = self._plain_references(question)
        value = self._entries[key]
        if isinstance(value, list):
            children: list[Node] = []
            for name in value:
                label = self._labels.get(name)
                if label is None:
                    children.append(self._implied(parse_call(self._plain_references(name)).plain()))
                else:
                    children.extend(self._node(name, label.id, label.question, depth + 1))
            return [Node(node_id, question, children=tuple(children))]
        try:
            return self._leaf(node_id, question, self._plain_references(value))
        except TreeError as error:
            raise TreeError(f"node {node_id}: {error.message}") from None

    def _leaf(self, node_id: int, question: str, text: str) -> list[Node]:
        if text.rstrip().endswith(_END):
            instruction = text.rstrip().removesuffix(_END).removesuffix(" ")
            return [Node(node_id, question, instruction=instruction if instruction.strip() else "")]
        if not looks_like_call(text.strip()):
            if not REFERENCE.search(text):
                raise TreeError(f"free text where an operator or [END] belongs: {shown(text)}")
            return [Node(node_id, question, instruction=text)]
        call = parse_call(text)
        inner: list[Node] = []
        arguments: list[Argument] = []
        for argument in call.arguments:
            if isinstance(argument, OperatorCall):
                if node_id == ROOT_ID:
                    raise TreeError("one operator stands inside another: give the inner one its own question")
                inner.append(self._implied(argument))
                arguments.append(References((inner[-1].id,)))
            else:
                arguments.append(argument)
        return [*inner, Node(node_id, question, OperatorCall(call.operator, tuple(arguments)))]

    def _implied(self, call: OperatorCall) -> Node:
        """A node for an operator that was written without a question."""
        if self._next_id > MAX_ID:
            raise TreeError("no number is left for a nested operator")
        self._count += 1
        check_count(self._count)
        node = Node(self._next_id, implied_question(call), call)
        self._next_id += 1
        return node

    def _plain_references(self, text: str) -> str:
        """`[3.1]` as `[301]` if a question has that number."""
        return _renumber(text, {name: str(number) for name, number in self._dotted.items()})


@dataclass(frozen=True, slots=True)
class _Label:
    """The number before a child's question, and the question."""

    id: int
    question: str
    dotted: bool


def _split_label(name: str) -> _Label | None:
    if match := _DOTTED_LABEL.fullmatch(name):
        return _Label(int(match.group(1)) * 100 + int(match.group(2)), match.group(3), dotted=True)
    if match := _LABEL.fullmatch(name):
        return _Label(int(match.group(1)), match.group(2), dotted=False)
    return None


def _renumber(text: str, numbers: Mapping[str, str]) -> str:
    """`[a]` and `[a, b]` with their numbers replaced."""
    if not numbers or "[" not in text:
        return text
    return _REFERENCE_LIST.sub(
        lambda match: re.sub(
            r"[0-9][0-9.]*", lambda number: numbers.get(number.group(), number.group()), match.group()
        ),
        text,
    )


def implied_question(call: OperatorCall) -> str:
    """A question for an operator that has none. Its quotes distinguish it from questions that people write."""
    parts = [f'"{a.text}"' if isinstance(a, Literal) else format_references(a) for a in call.arguments]
    first, rest = parts[0], " ".join(parts[1:])
    match call.operator.value:
        case "Search":
            return f"Who or what is meant by {first}{f' as {rest}' if rest else ''}?"
        case "Relate":
            return f"What is the {rest} of {first}?"
        case _:
            return f"Which of {first} satisfy {rest}?"


def published(tree: Tree) -> Tree:
    """The tree in the means of the paper's notation: operations become direct reasoning over their operands."""

    def plain(node: Node) -> Node:
        instruction = node.instruction
        if node.operation is not None and not set(node.operation.references) <= set(node.references_in_words):
            operands = " and ".join(f"[{i}]" for i in node.operation.references)
            instruction = f"Given answers of {operands}, answer: {node.question}"
        children = tuple(map(plain, node.children))
        return replace(node, operation=None, expects=None, instruction=instruction, children=children)

    return Tree(plain(tree.root))


def to_paper(tree: Tree) -> Entries:
    """The tree in the paper's notation, entries in the order of the outline.

    :func:`parse_paper` reads it as the tree that :func:`published` returns.

    Raises:
        TreeError: the notation cannot hold the tree, as when the root's question reads like a numbered child.
    """
    tree = published(tree)
    for short in (True, False):
        entries = _write(tree, short=short)
        try:
            if entries is not None and parse_paper(entries) == tree:
                return entries
        except TreeError as error:
            if not short:
                raise TreeError(f"the paper's notation cannot hold this tree: {error.message}") from None
    raise TreeError("the paper's notation cannot hold this tree: a question reads like a numbered one")


def _write(tree: Tree, *, short: bool) -> Entries | None:
    """Entries with or without the shorter forms (nested operators, operators as children, `3.1`); None: keys clash."""
    nested, in_place = _foldable(tree) if short else ({}, set())
    dotted: dict[int, str] = {}
    for node in tree.nodes() if short else ():
        parent = tree.parent_of(node.id)
        if parent and node.id // 100 == parent and node.id % 100:
            dotted[node.id] = f"{parent}.{node.id % 100}"
    numbers = {str(node_id): name for node_id, name in dotted.items()}

    def name(node: Node) -> str:
        question = _renumber(node.question, numbers)
        return question if node is tree.root else f"{dotted.get(node.id, node.id)}. {question}"

    entries: Entries = {}
    stack = [tree.root]
    while stack:
        node = stack.pop()
        if name(node) in entries:
            return None
        if node.children:
            shown = [child for child in node.children if child.id not in nested]
            entries[name(node)] = [
                _renumber(format_call(child.call), numbers) if child.call and child.id in in_place else name(child)
                for child in shown
            ]
            stack.extend(child for child in reversed(shown) if child.id not in in_place)
        elif node.call is not None:
            entries[name(node)] = _renumber(format_call(node.call, nested), numbers)
        else:
            instruction = _renumber(node.instruction, numbers)
            entries[name(node)] = f"{instruction} {_END}" if instruction else _END
    return entries


def _foldable(tree: Tree) -> tuple[dict[int, OperatorCall], set[int]]:
    """Nodes that :func:`parse_paper` made from operators without a question: nested ones, and children."""
    users: dict[int, list[int]] = {}
    for node in tree.nodes():
        for reference in node.references:
            users.setdefault(reference, []).append(node.id)
    nested: dict[int, OperatorCall] = {}
    in_place: set[int] = set()
    for parent in tree.nodes():
        for node in parent.children:
            if node.call is None or node.question != implied_question(node.call):
                continue
            using = users.get(node.id, [])
            if not using:
                in_place.add(node.id)
            elif len(using) == 1 and References((node.id,)) in (tree.node(using[0]).call or node.call).arguments:
                nested[node.id] = node.call
    return nested, in_place
