"""Repairs of a plan whose last step does not fit what the question asks."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cache
from itertools import count

from atomr_local.language.literals import parse_date, parse_period, unit_name
from atomr_local.language.names import name_key, split_qualifier
from atomr_local.language.properties import KnownProperty, property_table
from atomr_local.language.question import QuestionReading, read_question
from atomr_local.language.words import any_of, comparative, condition_words, direction_of, english, stem
from atomr_local.reasoning.planning.coverage import find_name, is_name
from atomr_local.tree.calls import NO_QUESTION, AnswerType, Expects, given_text
from atomr_local.tree.nodes import Literal, Node, Operator, OperatorCall, References, Tree, renumbered
from atomr_local.tree.operations import DIRECTIONS, Operation, OperationCall


def repaired(tree: Tree, typed: QuestionReading) -> Tree:
    """The tree after all repairs.

    Args:
        typed: the question as the user typed it; the tree has it as it was understood.
    """
    asked = read_question(tree.question)
    return in_asked_form(with_confirmed_property(with_comparisons(with_asked_property(tree, asked))), typed)


def _new_id(tree: Tree) -> int:
    return max(node.id for node in tree.nodes()) + 1


# Gives a plan without steps its look-up, where the question is for a known property of a thing that it names.
#
# "What is the motto of Belgium?" reads as one value, and a small model sometimes plans no step for it. Read out of
# passages or facts, it then gets one answer where several are stated. A Relate finds them all.

# Several things, or what more is said of one.
_MORE_THAN_A_NAME = re.compile(r",|\band\b|\bor\b")
_OTHER_FORMS = {AnswerType.YES_NO, AnswerType.SUMMARY, *NO_QUESTION}


def with_asked_property(tree: Tree, asked: QuestionReading) -> Tree:
    """The tree with the look-up that its question asks for, if it has no step at all."""
    if tree.root.children or tree.expects is None or tree.expects.type in _OTHER_FORMS:
        return tree
    for relation, name in asked.relations:
        if name_key(relation) in _wordings() and is_name(name) and not _MORE_THAN_A_NAME.search(name):
            call = OperatorCall(Operator.RELATE, (Literal(name), Literal(relation)))
            return Tree(replace(tree.root, children=(Node(1, tree.question, call),)))
    return tree


@cache
def _wordings() -> frozenset[str]:
    """Keys of all that a known property is called."""
    known = property_table().by_iri.values()
    return frozenset(name_key(wording) for one in known for wording in (one.label, *one.names))


# Completes yes/no plans that compare the wrong thing: what is confirmed is a property, not the thing itself.
#
# "Was the director of Jaws born in Rome?" takes two look-ups and a comparison. A small model often leaves out the
# second look-up, and compares the director with Rome, or the comparison, and looks up "Was [1] born in Rome?". Where
# the question's words name one property that such things have ("born in", with a value that is no date: place of
# birth), the step that is missing is put in.

_WORD = re.compile(r"[^\W\d_]+")
_EQUALITY = {"same", "different"}
# "Was [1] born in Rome?": the words up to a preposition, and the value.
_CONFIRMING = re.compile(
    r"(?:Is|Was|Did|Does|Are|Were) \[(?P<owner>\d+)\] (?P<predicate>(?:[a-z]+ ){0,4}?(?:in|on|at|of|from)) "
    r"(?P<value>\S[^?]*)\?"
)
_SMALL = english().in_wordings
# Kinds of values before which prepositions vary: "buried at", "buried in".
_LOCAL = {"time", "place", "country", "city"}
# What the kinds of answers are called where properties say what they are of.
_CONFIRMED_OF = {
    "person": {"person"},
    "work": {"work", "film", "book", "song", "album", "painting"},
    "organisation": {"organization", "company", "band"},
    "place": {"place", "country", "city", "building"},
}


def with_confirmed_property(tree: Tree) -> Tree:
    """The tree, ending with the look-up of the property that the question asks to be confirmed, and its comparison."""
    steps = tree.root.children
    if len(steps) != len(tree) - 1 or len(steps) < 2:
        return tree
    asked = _left_out_look_up(tree.question, steps) or _left_out_comparison(tree, steps[-1])
    found = next((step for step in steps if asked is not None and step.id == asked.owner), None)
    if asked is None or found is None or found.call is None:
        return tree
    said = _stems(asked.predicate) - _stems(f"{found.question} {_words_of(found)}")
    known = _property(said, _closing(asked.predicate), asked.value, read_question(found.question).expected.type)
    if known is None:
        return tree
    number = _new_id(tree)
    call = OperatorCall(Operator.RELATE, (References((asked.owner,)), Literal(known.label)))
    looked_up = Node(number, f"What is the {known.label} of [{asked.owner}]?", call)
    last = steps[-1]
    words = last.operation.words if last.operation is not None else ("same",)
    compared = OperationCall(Operation.IS, (References((number,)), Literal(asked.value)), words)
    told = f"Is [{number}] {asked.value}?" if f"[{asked.owner}]" in last.question else last.question
    ending = Node(last.id, told, operation=compared)
    return renumbered(Tree(replace(tree.root, children=(*steps[:-1], looked_up, ending))))


@dataclass(frozen=True, slots=True)
class _Asked:
    """What a question asks to be confirmed: "born in" of the answer of step `owner`, with its value."""

    owner: int
    predicate: str
    value: str


def _left_out_look_up(question: str, steps: Sequence[Node]) -> _Asked | None:
    """For a last step that compares what an earlier one has found with a value of the plan."""
    call = steps[-1].operation
    if call is None or call.operation is not Operation.IS or call.direction not in _EQUALITY or len(call.operands) != 2:
        return None
    owner, value = call.operands
    text = given_text(value)
    if not isinstance(owner, References) or len(owner.ids) != 1 or not text:
        return None
    begin = max(_ends_of_names(question, steps[:-1]), default=-1)
    end = find_name(text, question)
    return _Asked(owner.ids[0], question[begin:end], text) if 0 <= begin < end else None


def _left_out_comparison(tree: Tree, last: Node) -> _Asked | None:
    """For a last step that looks up "Was [1] born in Rome?"."""
    call = last.call
    if tree.expects is None or tree.expects.type is not AnswerType.YES_NO or call is None:
        return None
    owner, match = call.arguments[0], _CONFIRMING.fullmatch(last.question)
    if call.operator is not Operator.RELATE or not isinstance(owner, References) or match is None:
        return None
    return _Asked(owner.ids[0], match["predicate"], match["value"]) if owner.ids == (int(match["owner"]),) else None


def _ends_of_names(question: str, steps: Sequence[Node]) -> Iterator[int]:
    """Where the names that the steps look up end in the question."""
    for step in steps:
        head = given_text(step.call.arguments[0]) if step.call is not None else ""
        for name in filter(None, (head, split_qualifier(head)[0])):
            place = find_name(name, question)
            if place >= 0 and find_name(question[place : place + len(name)], name) == 0:
                yield place + len(name)
                break


def _property(said: frozenset[str], closing: str, value: str, owner: str) -> KnownProperty | None:
    """The one property of such owners that the words name and whose values are of the value's kind."""
    if not said or owner not in _CONFIRMED_OF:
        return None
    dated = parse_date(value) is not None
    exact, near = [], []
    for known in property_table().by_iri.values():
        if (known.kind == "time") != dated or not _CONFIRMED_OF[owner] & set(known.domain):
            continue
        wordings = [name for name in (known.label, *known.names) if _stems(name) == said]
        if any(_closing(name) == closing for name in wordings):
            exact.append(known)
        elif wordings and known.kind in _LOCAL:
            near.append(known)
    fitting = exact or near
    return fitting[0] if len(fitting) == 1 else None


def _words_of(step: Node) -> str:
    return " ".join(item.text for item in step.call.arguments if isinstance(item, Literal)) if step.call else ""


def _closing(text: str) -> str:
    """The small word at the end: "in" of "born in"; "" for none."""
    words = _WORD.findall(text.casefold())
    return words[-1] if words and words[-1] in _SMALL else ""


def _stems(text: str) -> frozenset[str]:
    words = (word for word in _WORD.findall(text) if word.islower() and word not in _SMALL)
    return frozenset(map(stem, words))


# Superlative filters: `Filter([1], "largest")` becomes a look-up and a Compare.
#
# A filter looks at one thing at a time, so it cannot find the largest. If its words say what is compared ("has the most
# inhabitants", "longest"), the step is rewritten as the model meant it. If they do not ("oldest": born, or founded?),
# the plan is sent back to the model.

_WORDS = condition_words()
_AMOUNTS = {"most": "larger", "fewest": "smaller", "least": "smaller"}
_OPENING = re.compile(rf"^(?:{any_of((*_WORDS.pronouns, *_WORDS.auxiliaries))}\s+)*(?:the\s+)?", re.IGNORECASE)
_HAVING = re.compile(rf"(?:^|\s){any_of(_WORDS.having)}\s+(?:the\s+)?$", re.IGNORECASE)
_BY = re.compile(r"\s+by\s+(?P<measure>[\w ]+)$", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class _Extreme:
    """The property that a filter compares, and the direction; each "" if its words do not say."""

    measure: str
    direction: str


_UNTOLD = _Extreme("", "")


def with_comparisons(tree: Tree) -> Tree:
    """The tree with a look-up and a Compare instead of each filter whose words say what is compared."""
    numbers = count(_new_id(tree))

    def below(node: Node) -> tuple[Node, ...]:
        children: list[Node] = []
        for child in node.children:
            found = _extreme(child)
            if found is None or not found.measure or child.call is None:
                children.append(replace(child, children=below(child)))
                continue
            things = child.call.arguments[0]
            assert isinstance(things, References)
            call = OperatorCall(Operator.RELATE, (things, Literal(found.measure)))
            looked_up = Node(next(numbers), f"What is the {found.measure} of [{things.ids[0]}]?", call)
            compare = OperationCall(Operation.COMPARE, (References((looked_up.id,)),), (found.direction,))
            children += (looked_up, replace(child, call=None, operation=compare))
        return tuple(children)

    changed = replace(tree.root, children=below(tree.root))
    return tree if changed == tree.root else renumbered(Tree(changed))


def comparing_filters(tree: Tree) -> Iterator[str]:
    """Complaints about filters that compare things without saying by what."""
    for node in tree.nodes():
        found = _extreme(node)
        if found is not None and node.call is not None:
            condition = given_text(node.call.arguments[1])
            yield (
                f"step {node.id} filters by {condition!r}, which compares things with each other: look up in a step "
                f"what is compared, and use Compare on that step"
            )


def _extreme(node: Node) -> _Extreme | None:
    """What a filter over one step compares; None for other nodes and for conditions on one thing at a time."""
    call = node.call
    if call is None or call.operator is not Operator.FILTER or len(call.arguments) != 2:
        return None
    things, condition = call.arguments
    if not isinstance(things, References) or len(things.ids) != 1 or not given_text(condition):
        return None
    text = " ".join(given_text(condition).split()).rstrip(" .?!")
    opening = _OPENING.match(text)
    assert opening is not None
    words, having = text[opening.end() :].casefold(), bool(_HAVING.search(text[: opening.end()]))
    return _read(words, having)


def _read(words: str, having: bool) -> _Extreme | None:
    by = _BY.search(words)
    first, _, rest = (words[: by.start()] if by else words).partition(" ")
    if first in _AMOUNTS:
        if not rest:
            return _UNTOLD
        return _Extreme(_amount(rest), _AMOUNTS[first]) if having else None  # "has the most inhabitants"
    adjective = comparative(first)
    if adjective is None:
        return _UNTOLD if first in _WORDS.superlatives and _a_kind(rest) else None
    measure: str | None = None
    if by is not None and _a_kind(rest):
        measure = by["measure"].strip()
    elif having and rest and first != adjective:
        measure = rest  # "has the largest population"
    elif _a_kind(rest):
        measure = _WORDS.measures.get(adjective, "")
    direction = "" if adjective in _WORDS.of_time else direction_of(adjective)
    return None if measure is None else _Extreme(measure, direction) if direction else _UNTOLD


def _amount(counted: str) -> str:
    """The property that counts these things."""
    return "population" if counted in _WORDS.people else f"number of {counted}"


def _a_kind(rest: str) -> bool:
    """Whether only a kind of thing follows the adjective: no "than", no clause, no "rated"."""
    return len(rest.split()) <= 1 and not rest.endswith("ed")


# Adjusts the last step of a plan to the form of answer that the question asks for.
#
# A small model often plans the right steps but ends in the wrong form. If the question is unambiguous, the last step is
# corrected: "Is A or B the larger?" is a comparison and not yes or no, a date is not reduced to its day, "in feet"
# converts to feet, "in the 1860s" is not "before the 1860s", and "how many" counts what the steps list.

_UNIT = re.compile(rf"\b{any_of(_WORDS.into_unit)}\s+(?P<unit>(?:square |cubic )?[^\W\d_]{{2,}})\b", re.IGNORECASE)
_DIRECTIONS = ({"larger", "smaller"}, {"later", "earlier"})
# The direction of a condition on a point in time, by the sign of the words before it.
_ORDERS = {"=": "same", "<": "earlier", "≤": "earlier", ">": "later", "≥": "later"}
# What a list of things can end with.
_LISTING = {Operation.SELECT, Operation.UNION, Operation.INTERSECT, Operation.EXCEPT}
_FIGURES = {AnswerType.NUMBER, AnswerType.QUANTITY, AnswerType.DATE, AnswerType.YEAR, AnswerType.YES_NO}


@dataclass(frozen=True)
class _LastStep:
    """The last step of a tree, and the question as the user typed it."""

    tree: Tree
    typed: QuestionReading

    @property
    def node(self) -> Node:
        return self.tree.root.children[-1]

    @property
    def asked(self) -> str:
        """The question as it was understood, and as it was typed."""
        return f"{self.tree.question} {self.typed.text}"

    @property
    def expects(self) -> AnswerType | None:
        return self.tree.expects.type if self.tree.expects is not None else None

    def operation(self, *kinds: Operation) -> OperationCall | None:
        """Its operation, if that is one of these."""
        call = self.node.operation
        return call if call is not None and call.operation in kinds else None

    def names(self, call: OperationCall) -> tuple[str, str]:
        """The names that start the look-ups behind two operands; "" where no name does, or there are not two."""
        steps = (one.ids if isinstance(one, References) and len(one.ids) == 1 else () for one in call.operands)
        calls = [self.tree.node(ids[0]).call if ids else None for ids in steps]
        names = [given_text(found.arguments[0]) if found is not None else "" for found in calls]
        return (names[0], names[1]) if len(names) == 2 else ("", "")

    def computed_by(self, call: OperationCall, expects: Expects | None = None) -> Tree:
        """The tree with another operation in this step."""
        children = (*self.tree.root.children[:-1], replace(self.node, operation=call))
        return Tree(replace(self.tree.root, children=children, expects=expects or self.tree.expects))

    def followed_by(self, question: str, operation: Operation, *words: str) -> Tree:
        """The tree with one more step, an operation on this one."""
        call = OperationCall(operation, (References((self.node.id,)),), words)
        step = Node(_new_id(self.tree), question, operation=call)
        return Tree(replace(self.tree.root, children=(*self.tree.root.children, step)))


def in_asked_form(tree: Tree, typed: QuestionReading) -> Tree:
    """The tree with its last step corrected to the form of answer that the question asks for; see :func:`repaired`."""
    if not tree.root.children:
        return tree
    last = _LastStep(tree, typed)
    for repair in (_choice_of_two, _verdict_of_two, _whole_date, _unit_of_question, _period_itself):
        changed = repair(last)
        if changed is not None:
            return renumbered(changed)
    return _counted(last) or _direction_asked_for(last) or tree


def _choice_of_two(last: _LastStep) -> Tree | None:
    """`Is([1], [2], "larger")` for "Is A or B larger?" compares."""
    call = last.operation(Operation.IS)
    if call is None or call.direction not in DIRECTIONS or not _choose(*last.names(call), last.asked):
        return None
    compare = OperationCall(Operation.COMPARE, call.operands, (call.direction,))
    return last.computed_by(compare, Expects(AnswerType.THING))


def _choose(one: str, other: str, asked: str) -> bool:
    """Whether the question offers a choice between the two."""
    if not one or not other:
        return False
    between = rf"\W+{any_of(_WORDS.choice)}\s+(?:the\s+)?"
    one, other = re.escape(one), re.escape(other)
    return re.search(rf"\b(?:{one}{between}{other}|{other}{between}{one})\b", asked, re.IGNORECASE) is not None


def _verdict_of_two(last: _LastStep) -> Tree | None:
    """`Compare([1], [2], "earlier")` for "Was A older than B?" says whether A is; of two that are alike, neither is."""
    call = last.operation(Operation.COMPARE)
    if call is None or last.expects is not AnswerType.YES_NO:
        return None
    names = last.names(call)
    first, second = (last.asked.casefold().find(name.casefold()) if name else -1 for name in names)
    if min(first, second) < 0 or _choose(*names, last.asked):
        return None
    return last.computed_by(
        OperationCall(Operation.IS, call.operands if first < second else call.operands[::-1], call.words)
    )


def _whole_date(last: _LastStep) -> Tree | None:
    """A question for a date is answered with the whole date, not with the number of its day."""
    call, before = last.operation(Operation.PART), last.tree.root.children[:-1]
    if call is None or call.words != ("day",) or last.expects is not AnswerType.DATE:
        return None
    if not before or call.references != (before[-1].id,):
        return None
    return Tree(replace(last.tree.root, children=before))


def _unit_of_question(last: _LastStep) -> Tree | None:
    """A quantity is converted to the unit that the question names."""
    units = {unit: match["unit"] for match in _UNIT.finditer(last.asked) if (unit := unit_name(match["unit"]))}
    if last.expects is not AnswerType.QUANTITY or len(units) != 1:
        return None
    [unit] = units.values()
    if call := last.operation(Operation.CONVERT):
        return None if unit_name(call.unit or "") else last.computed_by(replace(call, words=(unit,)))
    if last.node.call is None:
        return None
    return last.followed_by(f"How much is [{last.node.id}] in {unit}?", Operation.CONVERT, unit)


def _period_itself(last: _LastStep) -> Tree | None:
    """`Select([2], "1860s", "earlier")` for "in the 1860s" selects what lies in the 1860s."""
    call = last.operation(Operation.SELECT)
    if call is None or not isinstance(call.operands[-1], Literal):
        return None
    bound = call.operands[-1].text
    if parse_period(bound) is None:
        return None
    said = [
        _ORDERS[sign]
        for sign, phrases in _WORDS.comparisons.items()
        if re.search(
            rf"(?<!\w){any_of(phrases)}\s+(?:the\s+)?{re.escape(bound)}(?!\w)", last.node.question, re.IGNORECASE
        )
    ]
    if len(said) != 1 or call.direction in (said[0], None):
        return None
    return last.computed_by(replace(call, words=(said[0],)))


def _counted(last: _LastStep) -> Tree | None:
    """A plan that lists several things, where the user asks how many they are, counts them."""
    expects, typed = last.tree.expects, last.typed
    if expects is None or not expects.several or expects.type in _FIGURES:
        return None
    if last.node.operation is not None and last.operation(*_LISTING) is None:
        return None
    if not typed.text or not typed.expected.surely(AnswerType.NUMBER):
        return None
    tree = last.followed_by(f"How many are in [{last.node.id}]?", Operation.COUNT)
    return Tree(replace(tree.root, question=typed.text, expects=Expects(AnswerType.NUMBER)))


def _direction_asked_for(last: _LastStep) -> Tree | None:
    """`Compare(…, "earlier")` where the user's only comparative is "newer" looks for the later one."""
    call = last.operation(Operation.COMPARE, Operation.TOP)
    if call is None or call.direction not in DIRECTIONS:
        return None
    said = last.typed.directions & next(kind for kind in _DIRECTIONS if call.direction in kind)
    if len(said) != 1 or call.direction in said:
        return None
    return last.computed_by(replace(call, words=(*said, *call.words[1:])))
