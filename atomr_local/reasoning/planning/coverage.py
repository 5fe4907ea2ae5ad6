"""Plan coverage: names and numbers of the question, and words that pick one of several, that no step contains.

The spelling of the question decides which words matter, not a list of words: numbers, and words with a capital letter
inside a sentence. A plan that leaves one out is still run, with a warning.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator
from dataclasses import dataclass, replace
from difflib import get_close_matches
from itertools import count

from rapidfuzz import fuzz

from atomr_local.language.names import POSSESSIVE_END, country_named, name_key, split_qualifier, words
from atomr_local.language.words import english, picks_out
from atomr_local.tree.calls import given_text
from atomr_local.tree.nodes import Literal, Node, Operator, OperatorCall, References, Tree, renumbered
from atomr_local.tree.operations import Operation

_TOKEN = re.compile(r"[^\W_]+(?:[.,'’\-][^\W_]+)*")
_GROUPED = re.compile(r"(?<=\d),(?=\d{3}(?!\d))")
_NUMBER = re.compile(r"\d+(?:\.\d+)?")
# Single digits may be list numbers or words in the plan; a decade may be two years there.
_TELLING_NUMBER = re.compile(r"(?<![\d.])(?:\d{2,}(?:\.\d+)?|\d\.\d+)(?![\d.]*s\b)(?!\d)")
_SENTENCE_ENDS = ".!?:;"
# If a larger share of the words is capitalised, capitals do not identify names.
_TITLE_CASE = 0.8
# From this similarity on (Ratcliff and Obershelp) a word counts as a misspelling that the plan has corrected.
_MISSPELT = 0.75
_ABBREVIATION = re.compile(r"\b[A-Z][a-z]?\.$")
# Operations that choose among several.
_PICKING = frozenset({Operation.COMPARE, Operation.TOP, Operation.SORT, Operation.SELECT})
_CONTRACTION = re.compile(r"[^\W_]['’][a-z]+")


def left_out(tree: Tree, question: str) -> tuple[str, ...]:
    """Names and numbers of `question` that no step of the plan contains, as written, in order.

    Args:
        tree: a plan; if it has no steps, the question as understood counts.
        question: as the user typed it.
    """
    steps = [node for node in tree.nodes() if node is not tree.root or not node.children]
    said = " ".join(text for node in steps for text in _texts(node))
    known = set(words(said)) | {POSSESSIVE_END.sub("", token.casefold()) for token in _TOKEN.findall(said)}
    numbers = set(_NUMBER.findall(_GROUPED.sub("", said)))
    missing = [
        name
        for name in _names(question)
        if not set(words(name)) <= known and not get_close_matches(name.casefold(), known, 1, _MISSPELT)
    ]
    asked = _TELLING_NUMBER.findall(_GROUPED.sub("", question))
    missing += [number for number in asked if not any(_same_number(number, other) for other in numbers)]
    return tuple(dict.fromkeys(missing))


def unpicked(tree: Tree, question: str) -> tuple[str, ...]:
    """Words of `question` that pick one of several ("last", "largest") and that no step of the plan contains, in order.

    None where a step compares, sorts or selects, which is how a plan says it. Read inside a name ("First World War")
    such a word is no wish; capitals show that.

    Args:
        question: as the user typed it.
    """
    steps = [node for node in tree.nodes() if node is not tree.root]
    if not steps or any(node.operation is not None and node.operation.operation in _PICKING for node in steps):
        return ()
    said = set(words(" ".join(text for node in steps for text in _texts(node))))
    asked = [token for token in _TOKEN.findall(question) if token[0].islower()]
    missing = picks_out(asked) - said
    return tuple(dict.fromkeys(word for word in asked if word in missing))


def _same_number(one: str, other: str) -> bool:
    """Whether one number may stand for the other: 6 (million) and 6000000, (from) 2008 and (after) 2007."""
    if one.isdecimal() and other.isdecimal() and len(one) == len(other) == 4:
        return abs(int(one) - int(other)) <= 1
    small, large = sorted((one, other), key=len)
    return small == large or (large.endswith("000") and large.rstrip("0") == small)


def _texts(node: Node) -> Iterator[str]:
    yield node.question
    yield node.instruction
    arguments = node.call.arguments if node.call is not None else node.operation.operands if node.operation else ()
    yield from (argument.text for argument in arguments if isinstance(argument, Literal))


def _names(question: str) -> list[str]:
    """Words with a capital letter that does not only mark the beginning of a sentence."""
    found = list(_TOKEN.finditer(question))
    large = [match for match in found if match[0][0].isupper()]
    if len(found) > 3 and sum(match[0][0].isupper() for match in found[1:]) > _TITLE_CASE * (len(found) - 1):
        return []
    names = []
    for match in large:
        before = question[: match.start()].rstrip(" \"'“‘(")
        # A single letter is an initial or a pronoun.
        begins = not before or (before[-1] in _SENTENCE_ENDS and not _ABBREVIATION.search(before))
        if not begins and len(match[0]) > 1 and not _CONTRACTION.fullmatch(match[0]):
            names.append(POSSESSIVE_END.sub("", match[0]))
    return names


# Names that a plan misspells: a small model may write Hertley for Hartley.
#
# The names that steps look up are copied from the question; the questions of the steps are the model's own words.


# Words that are at least this similar, in %, may be misspellings of one another.
_ALIKE = 70
_SPELLING_TOKEN = re.compile(r"[^\W_]+(?:[.,'’\-]+[^\W_]+)*")


@dataclass(frozen=True, slots=True)
class Respelt:
    """A name as the plan writes it, and as the user typed it, with the plan's capitals."""

    written: str
    typed: str


def respelt(tree: Tree) -> Iterator[Respelt]:
    """The names that steps look up and line 0 spells differently, each once."""
    found = list(_SPELLING_TOKEN.finditer(tree.question))
    tokens = [POSSESSIVE_END.sub("", match[0]) for match in found]
    keys = [name_key(token) for token in tokens]
    for name in dict.fromkeys(filter(None, map(searched_name, tree.nodes()))):
        words = _SPELLING_TOKEN.findall(name)
        wanted = [name_key(POSSESSIVE_END.sub("", word)) for word in words]
        size = len(words)
        windows = range(len(keys) - size + 1)
        if not words or any(keys[at : at + size] == wanted for at in windows):
            continue
        for at in windows:
            if all(_may_be(one, two) for one, two in zip(keys[at:], wanted, strict=False)):
                begin, end = found[at].start(), found[at + size - 1].start() + len(tokens[at + size - 1])
                shown = [
                    word[:1].upper() + word[1:] if token[:1].isupper() else word
                    for word, token in zip(words, tokens[at:], strict=False)
                ]
                yield Respelt(tree.question[begin:end], POSSESSIVE_END.sub("", " ".join(shown)))
                break


def spelt(tree: Tree, names: list[Respelt]) -> Tree:
    """The tree with these names spelt as typed in all its questions."""

    def again(node: Node) -> Node:
        question, instruction = node.question, node.instruction
        for name in names:
            whole = re.compile(rf"(?<!\w){re.escape(name.written)}(?!\w)")
            typed = name.typed.replace("\\", r"\\")
            question, instruction = whole.sub(typed, question), whole.sub(typed, instruction)
        return replace(node, question=question, instruction=instruction, children=tuple(map(again, node.children)))

    return Tree(again(tree.root)) if names else tree


def _may_be(one: str, other: str) -> bool:
    """Whether the words are equal or one is a misspelling; forms of a word ("India", "Indian") are not."""
    if one == other:
        return True
    if one.startswith(other) or other.startswith(one) or fuzz.ratio(one, other) < _ALIKE:
        return False
    country = country_named(one)
    return country is None or country != country_named(other)


def searched_name(node: Node) -> str:
    """The name that a Search looks for as the plan gives it; "" for other steps."""
    call = node.call
    return given_text(call.arguments[0]) if call is not None and call.operator is Operator.SEARCH else ""


# Shorthand plans: a Relate on a name expands to a Search for the name and a Relate on its result.
#
# In the method every chain of look-ups begins with a Search (AtomR, section 3.1). The Search follows from the name in
# `Relate("Hamlet (1948 film)", "director")`, so a small model does not have to write it. That makes plans about a third
# shorter and leaves one way of planning instead of two. The plan that runs, and is shown, contains the Search.

_WORD = re.compile(r"[^\W_]+")


def _fold(text: str) -> str:
    """Case-folded and without diacritics, letter by letter, so that positions equal those in the original."""
    letters = (unicodedata.normalize("NFD", character)[0].casefold() for character in text)
    return "".join(letter if len(letter) == 1 else letter[0] for letter in letters)


def find_name(name: str, text: str) -> int:
    """Position of the name in the text, with or without its parenthetical; -1 if it is not there."""
    folded = _fold(text)
    for form in (name, split_qualifier(name)[0]):
        place = folded.find(_fold(form)) if form else -1
        if place >= 0:
            return place
    return -1


def search_for(written: str) -> tuple[str, OperatorCall]:
    """The Search for a name as a plan writes it, and its question.

    A description in parentheses says which one is meant and becomes the second argument: "Hamlet (1948 film)".
    """
    name, kind = split_qualifier(written)
    arguments = (Literal(name), Literal(kind)) if kind else (Literal(name),)
    return f"Who or what is {written}?", OperatorCall(Operator.SEARCH, arguments)


def with_searches(tree: Tree) -> Tree:
    """The tree with a Search before each Relate on a name, numbered breadth first.

    A top-level step becomes a question with the two below it. If it is the only step, or already below another one, the
    Search becomes its sibling.
    """
    numbers = count(max(node.id for node in tree.nodes()) + 1)

    def expanded(node: Node) -> tuple[Node, ...]:
        """The Search and the Relate for a Relate on a name; any other node alone."""
        head = node.call.arguments[0] if node.call is not None and node.call.operator is Operator.RELATE else None
        name = given_text(head)
        if node.call is None or not is_name(name):
            return (replace(node, children=below(node)),)
        question, search = search_for(name)
        found = Node(next(numbers), question, search)
        place = find_name(name, node.question)
        asked = node.question
        if place >= 0:
            written = name if _fold(node.question).startswith(_fold(name), place) else split_qualifier(name)[0]
            asked = f"{asked[:place]}[{found.id}]{asked[place + len(written) :]}"
        call = OperatorCall(Operator.RELATE, (References((found.id,)), *node.call.arguments[1:]))
        return found, replace(node, question=asked, call=call)

    def below(node: Node) -> tuple[Node, ...]:
        beside = node is not tree.root or len(node.children) == 1
        children: list[Node] = []
        for child in node.children:
            made = expanded(child)
            if len(made) == 1 or beside:
                children += made
            else:
                last = replace(made[-1], id=next(numbers))
                children.append(replace(child, call=None, children=(*made[:-1], last)))
        return tuple(children)

    return renumbered(Tree(replace(tree.root, children=below(tree.root))))


def is_name(text: str) -> bool:
    """Whether the text is spelt as a name: all but the small words have capitals or begin with digits."""
    found = _WORD.findall(split_qualifier(text)[0])
    telling = [word for word in found if word.casefold() not in english().small]
    return bool(telling) and all(not word[0].islower() or word != word.lower() for word in telling)
