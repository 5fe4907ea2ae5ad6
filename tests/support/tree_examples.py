"""Trees for the tests: written ones, and a hypothesis strategy for any tree the types can hold."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from hypothesis import strategies as st

from atomr_local.tree.calls import AnswerType, Expects
from atomr_local.tree.nodes import ROOT_ID, Argument, Literal, Node, Operator, OperatorCall, References, Tree
from atomr_local.tree.operations import SLOT_WORDS, Operation, OperationCall, WordRole

OUTLINE = """\
0. Who is the father-in-law of Queen Hyojeong?
1. Who is Queen Hyojeong's husband?
 3. Who is Queen Hyojeong? = Search("Queen Hyojeong")
 4. Who is [3]'s husband? = Relate([3], "husband")
2. Who is the father of [1]?
 5. Who is [1]? = Search([1], "husband of Queen Hyojeong")
 6. Who is the father of [5]? = Relate([5], "father")"""

COMPARISON = """\
0. Which of the moons of Mars and Neptune is the larger?
1. Which moons does Mars have? = Relate("Mars", "moon")
2. Which moons does Neptune have?
   7. What is Neptune? = Search("Neptune", "planet")
   8. Which moons does [7] have? = Relate([7], "moon")
3. Which of [1, 8] are round? = Filter([1, 8], "is round")
4. Which of [3] is the larger? = Direct("Given answers of [3], compare the diameters")"""

OPERATIONS = """\
0. Which of the two Hamlet films is the older, and how long is it? = Answer(work, several)
1. When was the 1948 Hamlet released? = Relate("Hamlet (1948 film)", "publication date")
2. When was the 1996 Hamlet released? = Relate("Hamlet (1996 film)", "publication date")
3. Which was released first? = Compare([1], [2], "earlier")
4. How long is [3]? = Relate([3], "duration")
5. How long is that in hours? = Convert([4], "hours")
6. Both answers = Each([3], [5])"""

PAPER: dict[str, object] = {
    "Who is the father-in-law of Queen Hyojeong?": ["1. Who is Queen Hyojeong's husband?", "2. Who is [1]'s father?"],
    "1. Who is Queen Hyojeong's husband?": ["3. Who is Queen Hyojeong?", "4. Who is [3]'s husband?"],
    "3. Who is Queen Hyojeong?": 'Search("Queen Hyojeong")',
    "4. Who is [3]'s husband?": 'Relate([3], "husband")',
    "2. Who is [1]'s father?": ["5. Which sons of the king fit?", "2.1. Given [5], who is it?"],
    "5. Which sons of the king fit?": 'Filter(Relate("king", "child"), "married [1]")',
    "2.1. Given [5], who is it?": "Given answers of [5], choose one [END]",
}

# Pieces that either notation could trip over.
_FRAGMENTS = st.sampled_from(
    [
        *(
            " = ",
            "=",
            " = Search(",
            ' = Search("x")',
            " = Se",
            "\\",
            "\\=",
            "\\u0041",
            "\\n",
            '"',
            '", "',
            '")',
            ",",
            ")",
        ),
        *("[1]", "[1", "[", "[2.1]", "0. ", "1. ", "2.1 ", "[END]", " [END]", 'Direct("', "Relate([1])"),
        *("\n", "\r\n", "\t", " ", "\u00a0", "\x85", "\u2028", "\u202e", "\ud800", "\x1b", "\U000e0041"),
        *("é", "🦨", "Who is it?"),
    ]
)
texts = st.lists(st.one_of(_FRAGMENTS, st.text(st.characters(), max_size=6)), min_size=1, max_size=6).map("".join)
questions = texts.filter(lambda text: bool(text.strip()))
_ids = st.integers(1, 9_999)
arguments: st.SearchStrategy[Argument] = st.one_of(
    st.builds(Literal, texts | st.just("")),
    st.builds(References, st.lists(_ids, min_size=1, max_size=4).map(tuple)),
)
calls = st.builds(OperatorCall, st.sampled_from(Operator), st.lists(arguments, min_size=1, max_size=3).map(tuple))
_units = st.text(st.characters(), min_size=1, max_size=8).filter(
    lambda text: text == " ".join(text.split()) != "" and "[" not in text
)
expectations = st.builds(Expects, st.sampled_from(AnswerType), st.booleans())


def _words(slot: WordRole) -> st.SearchStrategy[str]:
    if slot is WordRole.NUMBER:
        return st.integers(1, 100).map(str)
    return _units if slot is WordRole.UNIT else st.sampled_from(SLOT_WORDS[slot])


@st.composite
def operations(draw: Callable[..., object]) -> OperationCall:
    """Any operation that keeps the rules of its signature."""
    operation = draw(st.sampled_from(Operation))
    assert isinstance(operation, Operation)
    signature = operation.signature
    count = st.integers(signature.least, min(signature.most or 4, 4))
    ids = draw(count.flatmap(lambda n: st.lists(_ids, min_size=n, max_size=n, unique=True)))
    assert isinstance(ids, list)
    operands: list[Argument] = [References((i,)) for i in ids]
    if signature.text_last and draw(st.booleans()):
        operands[-1] = Literal(str(draw(texts.filter(lambda text: bool(text.strip()) and "[" not in text))))
    left_out = signature.optional and draw(st.booleans())
    words = () if left_out else tuple(str(draw(_words(slot))) for slot in signature.words)
    return OperationCall(operation, tuple(operands), words)


@st.composite
def trees(draw: Callable[..., object], wording: st.SearchStrategy[str] = questions, *, computed: bool = True) -> Tree:
    """Any tree of up to ten nodes with any numbers, whatever its references point to.

    Args:
        computed: whether nodes may be operations, and the root may state what it expects.
    """
    ids = draw(st.lists(st.integers(1, 12) | st.integers(95, 320) | _ids, max_size=9, unique=True))
    assert isinstance(ids, list)
    children: dict[int, list[int]] = {ROOT_ID: []}
    for index, node_id in enumerate(ids):
        parent = draw(st.sampled_from([ROOT_ID, *ids[:index]]))
        assert isinstance(parent, int)
        children[parent].append(node_id)
        children[node_id] = []

    def build(node_id: int) -> Node:
        question = str(draw(wording))
        if children[node_id]:
            return Node(node_id, question, children=tuple(build(child) for child in children[node_id]))
        call = draw(st.none() | calls | operations()) if computed else draw(st.none() | calls)
        if isinstance(call, OperationCall):
            return Node(node_id, question, operation=call)
        assert call is None or isinstance(call, OperatorCall)
        instruction = "" if call is not None else str(draw(st.just("") | questions))
        return Node(node_id, question, call, (), instruction)

    root = build(ROOT_ID)
    if computed and root.call is None and root.operation is None and not root.instruction and draw(st.booleans()):
        expects = draw(expectations)
        assert isinstance(expects, Expects)
        root = replace(root, expects=expects)
    return Tree(root)
