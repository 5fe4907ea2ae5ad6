"""Reads questions over earlier steps in foreign plans as typed operations.

Our own plans state their operations; a published or hand-written plan asks: "Which of [1] and [2] is longer?". If such
a question clearly means an operation, it is computed (see `compute.py`). If not, the model reasons in words. The
English is data: `language/en/operations.json`.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache

from atomr_local.language.names import country_of, name_key, words
from atomr_local.language.words import any_of
from atomr_local.reasoning.operations import amounts
from atomr_local.reasoning.operations.measures import Sort, measure, measure_words
from atomr_local.reasoning.operations.operands import NotComputed, Operand, required
from atomr_local.reasoning.results import Result, add_evidence, fill_question, product_confidence, subjects
from atomr_local.reasoning.trace import Method
from atomr_local.sources.protocol import Evidence, Value
from atomr_local.tree.nodes import REFERENCE, Literal, Node, References, Tree
from atomr_local.tree.operations import Operation, OperationCall, WordRole

# Computes typed operations over earlier answers, such as `Compare([1], [3], "earlier")`.
#
# Each results in values and a computation that people can check. If operands do not parse, cannot be ordered or have
# different units, there is no result, and a reason names the operand.


@dataclass(frozen=True)
class Computed:
    """The result of an operation.

    Attributes:
        values: empty if there is no result.
        computation: such as "1956-06-09 < 1993-10-26"; "" if nothing was computed.
        reason: why there is no result, as a clause; "" if there is one.
        notes: notes about what was left out.
        none: whether the result is known to be empty, for example if no entity satisfies a condition.
        share: the share of the entities asked about that have a value, 0 to 1.
    """

    values: tuple[Value, ...]
    computation: str
    reason: str = ""
    notes: tuple[str, ...] = ()
    none: bool = False
    share: float = 1.0


def compute(call: OperationCall, operands: Sequence[Operand | str], asked: str = "") -> Computed:
    """Compute an operation.

    Args:
        operands: in the call's order; a text for a quoted operand.
        asked: the questions that the operation answers. In a chain such as a film and its director they decide which
            of the two is asked for.
    """
    try:
        if call.operation not in _OVER_NOTHING:
            required(operands)
        values, computation = _run(call, operands, asked)
    except NotComputed as problem:
        return Computed((), "", str(problem))
    except ArithmeticError:  # such as 1e999 squared
        return Computed((), "", "its numbers are too large or too small to be calculated with")
    notes, share = _left_out(operands)
    reason = "" if values else _NOTHING.get(call.operation, "nothing is left")
    return Computed(values, computation, reason, notes, not values, share)


# The reason if there is no value, where it is known.
_NOTHING = {Operation.SELECT: "none of them satisfies it", Operation.INTERSECT: "they have nothing in common"}
# Operations that accept operands without a value.
_OVER_NOTHING = {Operation.EACH}


def _run(call: OperationCall, operands: Sequence[Operand | str], asked: str) -> amounts.Found:
    known = [operand for operand in operands if isinstance(operand, Operand)]
    word = call.word(WordRole.DIRECTION) or call.word(WordRole.CONDITION) or call.word(WordRole.RELATION) or ""
    run: dict[Operation, Callable[[], amounts.Found]] = {
        Operation.COMPARE: lambda: amounts.compare(known, word, asked),
        Operation.TOP: lambda: amounts.top(known, word, call.number or 1, asked),
        Operation.SORT: lambda: amounts.sort(known, word, asked),
        Operation.SELECT: lambda: amounts.select(known, operands[-1], word, asked),
        Operation.IS: lambda: amounts.stands(operands[0], operands[1], word),
        Operation.ALL: lambda: amounts.verdicts(known, every=True),
        Operation.ANY: lambda: amounts.verdicts(known, every=False),
        Operation.DIFFERENCE: lambda: amounts.difference(known[0], known[1], call.unit),
        Operation.RATIO: lambda: amounts.ratio(known[0], known[1]),
        Operation.SUM: lambda: amounts.total(known),
        Operation.AVERAGE: lambda: amounts.average(known),
        Operation.COUNT: lambda: amounts.count(known[0]),
        Operation.UNION: lambda: amounts.union(known),
        Operation.INTERSECT: lambda: amounts.intersection(known),
        Operation.EXCEPT: lambda: amounts.exclusion(known),
        Operation.PART: lambda: amounts.part(known[0], call.part or ""),
        Operation.CONVERT: lambda: amounts.convert(known[0], call.unit or ""),
        Operation.EACH: lambda: amounts.each(known),
    }
    return run[call.operation]()


def _left_out(operands: Sequence[Operand | str]) -> tuple[tuple[str, ...], float]:
    """A note about entities without a value, and the share of the entities that have one."""
    known = [operand for operand in operands if isinstance(operand, Operand)]
    missing = [value.text for operand in known for value in operand.without]
    if not missing:
        return (), 1.0
    asked = len(missing) + sum(max(len(operand.values), 1) for operand in known)
    shown = ", ".join(missing[:5]) + (f" and {len(missing) - 5} more" if len(missing) > 5 else "")
    return (f"left out, no value was found for: {shown}",), 1 - len(missing) / asked


_Read = tuple[OperationCall, Sequence[Operand]]
_WORDS_OF: dict[Sort, tuple[str, str]] = {"date": ("earlier", "later"), "number": ("smaller", "larger")}
_SORTS: tuple[Sort, ...] = ("date", "number")
_A_REFERENCE = r"\[\d{1,4}\]"


@lru_cache(maxsize=256)
def _phrases(name: str, *, opening: bool = False) -> re.Pattern[str]:
    """Matches any phrase of a list of the English data as whole words; with `opening` only at the beginning."""
    listed = any_of(measure_words()["questions"][name])
    return re.compile(rf"{'^' if opening else ''}(?<!\w){listed}(?!\w)", re.IGNORECASE)


def _has(name: str, question: str, *, opening: bool = False) -> bool:
    return _phrases(name, opening=opening).search(question) is not None


def symbolic_compute(question: str, operands: Sequence[Operand], root_question: str = "") -> Computed | None:
    """The answer to `question` over earlier answers, or None if it is not clearly one of the operations.

    Args:
        question: the node's question; it may contain references `[i]`.
        root_question: the whole question, which decides which of an operand's subjects is asked for.
    """
    if not operands or any(not operand.values for operand in operands):
        return None
    asked = _without_given(" ".join(question.split()))
    for rule in (_equality, _verdict_on_order, _count, _difference, _extreme, _total, _intersection):
        read = rule(asked, operands, root_question)
        if read is not None:
            computed = compute(*read, f"{question} {root_question}")
            return computed if computed.values else None
    return None


def _without_given(question: str) -> str:
    """The question without "Given [1] and [2], " at its beginning."""
    while _has("given", question, opening=True) and "," in question:
        question = question.partition(",")[2].strip()
    return question


def _call(operation: Operation, operands: Sequence[Operand], *said: str) -> _Read:
    return OperationCall(operation, tuple(References((one.node_id,)) for one in operands), said), operands


def _asks_verdict(question: str) -> bool:
    return _has("verdict_openers", question, opening=True)


# -- the same or different


def _equality(question: str, operands: Sequence[Operand], _root: str) -> _Read | None:
    """ "Are [1] and [2] from the same country?" """
    if len(operands) != 2 or not _asks_verdict(question):
        return None
    different = _has("different", question)
    if not different and not _has("same", question):
        return None
    if not different and _has("shares", question) and not _shared_is_asked(question, operands):
        return None
    if _has("countries", question):
        operands = [replace(one, values=tuple(map(_country, one.values))) for one in operands]
    return _call(Operation.IS, operands, "different" if different else "same")


def _shared_is_asked(question: str, operands: Sequence[Operand]) -> bool:
    """Whether the thing said to be shared is what the steps asked for: a country, not a border."""
    found = _phrases("shares").search(question)
    shared = words(question[found.end() :])[-1:] if found else []
    asked = [words(one.question) for one in operands if one.question]
    return not asked or not shared or all(any(word.startswith(shared[0][:5]) for word in one) for one in asked)


def _country(value: Value) -> Value:
    country = country_of(value.text)
    return Value(country, of=value.of) if country else value


# -- orders


def _readable(operands: Sequence[Operand], sort: Sort) -> bool:
    return all(measure(value, sort) is not None for operand in operands for value in operand.values)


def _directed(question: str, operands: Sequence[Operand]) -> str | None:
    """The direction that the question asks for and the operands allow; dates before numbers."""
    for sort in _SORTS:
        low, high = (_phrases(word).search(question) for word in _WORDS_OF[sort])
        if not (low or high) or not _readable(operands, sort):
            continue
        # "first … the later film": the first such word decides
        first = low if not high or (low and low.start() < high.start()) else None
        return _WORDS_OF[sort][0 if first else 1]
    return None


def _verdict_on_order(question: str, operands: Sequence[Operand], root: str) -> _Read | None:
    """ "Was [1] before [2]?" compares the first-named with the second."""
    if len(operands) != 2 or not _asks_verdict(question) or _selects(question, operands, root):
        return None
    bare = REFERENCE.sub("", question)
    if not _has("than", question) or _has("of_several", question) or any(map(str.isdigit, bare)):
        return None
    word = _directed(question, operands)
    if word is None:
        return None
    key = name_key(question)
    places = [key.find(name_key(o.subjects[-1].text)) if o.subjects else -1 for o in operands]
    if -1 not in places and places[0] > places[1]:
        operands = operands[::-1]
    return _call(Operation.IS, operands, word)


def _selects(question: str, operands: Sequence[Operand], root: str) -> bool:
    """Whether the question asks for one of several, not for yes or no: "Was A or B born first?".

    If the step does not offer the choice, the whole question may do so with the operands' subjects.
    """
    choice = "|".join(measure_words()["choice"])
    if re.search(rf" (?:{choice}) ", question):
        return True
    before, *rest = re.split(rf" (?:{choice}) ", root, maxsplit=1)
    after = f" {name_key(rest[0])} " if rest else " "
    before = f" {name_key(before)} "
    names = [[f" {name_key(subject.text)} " for subject in operand.subjects] for operand in operands]
    return len(names) == 2 and any(
        any(name in before for name in one) and any(name in after for name in other)
        for one, other in (names, names[::-1])
    )


def _extreme(question: str, operands: Sequence[Operand], root: str) -> _Read | None:
    """ "Which of [1] and [2] is longer?" """
    if _asks_verdict(question) and not _selects(question, operands, root):
        return None  # a yes/no question is not answered with a name
    if _has("asks_otherwise", question, opening=True) or _has("differences", question) or _has("asks_amount", question):
        return None
    opener = _phrases("who_openers", opening=True).match(question)
    if opener and not _is_who(question[opener.end() :].strip()):
        return None  # "Who directed the first?" asks for more than the first one
    bare = re.fullmatch(rf"{_A_REFERENCE}(?:,? \w+ {_A_REFERENCE})+\W*", question)
    said = f"{question} {root}" if bare else question
    if _has("not_two_values", said) or (bare and _has("asks_otherwise", root, opening=True)):
        return None
    measured = _named_measured(operands)
    word = _directed(said, measured) if len(measured) > 1 else None
    return _call(Operation.COMPARE, measured, word) if word else None


def _is_who(rest: str) -> bool:
    """Whether the text after "who" asks which one it is: "is older", "died first", "directed more films"."""
    if _has("who_verbs", rest, opening=True):
        return True
    _, _, after = rest.partition(" ")
    amount = _phrases("who_amounts", opening=True).match(after)
    things = after[amount.end() :].split() if amount else []
    return bool(things) and re.fullmatch(r"\w+(?<!ou)s\W*", things[0]) is not None


def _named_measured(operands: Sequence[Operand]) -> Sequence[Operand]:
    """The operands with dates or amounts. If half of the operands are entities, they are the owners of the others."""
    measured = [one for one in operands if any(_readable([one], sort) for sort in _SORTS)]
    named = [one for one in operands if one not in measured]
    if not named:
        return measured
    if len(named) != len(measured):
        return []
    return [
        replace(m, subjects=(*n.values[:1], *m.subjects), values=tuple(replace(v, of=()) for v in m.values))
        for n, m in zip(named, measured, strict=True)
    ]


# -- amounts


def _count(question: str, operands: Sequence[Operand], _root: str) -> _Read | None:
    """ "How many [1] are there?", or the number of all things of the only step, without a condition."""
    if len(operands) != 1 or not _has("counts", question):
        return None
    plain = re.sub(_A_REFERENCE, "[1]", question.rstrip(" ?.")).casefold()
    if REFERENCE.search(question):
        if plain not in measure_words()["questions"]["counts_reference"]:
            return None
    elif not _has("how_many", question, opening=True) or _has("conditions", question) or re.search(r"\d", question):
        return None
    values = operands[0].values
    if len(values) == 1 and measure(values[0], "number") is not None:
        return None  # the operand is already the number
    return _call(Operation.COUNT, operands)


def _difference(question: str, operands: Sequence[Operand], _root: str) -> _Read | None:
    """ "How many years are between [1] and [2]?", "How old was she when she died?", "How much longer is the Nile?" """
    if len(operands) != 2:
        return None
    if not _readable(operands, "date"):
        asked = _has("differences", question) or _has("by_how_much", question, opening=True)
        return _call(Operation.DIFFERENCE, operands) if asked else None
    if _has("by_how_much", question, opening=True):  # "By how many years is A older than B?"
        question = question.partition(" ")[2]
    units = measure_words()["questions"]["span_units"]
    unit = next((units[word] for word in words(question) if word in units), "")
    how_many = re.match(rf"(?:{_phrases('how_many').pattern})\s+(\w+)", question, re.IGNORECASE)
    if how_many and units.get(how_many[1].casefold()) and _has("spans", question):
        return _call(Operation.DIFFERENCE, operands, unit)
    age = _has("ages", question, opening=True) and _has("at_an_event", question)
    # "How long are the Nile and the Amazon?" asks for two lengths.
    several = " and " in question and not _has("between", question)
    lasted = _has("how_long", question, opening=True) and not several
    if age or lasted or _has("lifespans", question) or (_has("differences", question) and _has_dates(operands)):
        return _call(Operation.DIFFERENCE, operands, unit or "years")
    return _call(Operation.DIFFERENCE, operands) if _has("differences", question) else None


def _has_dates(operands: Sequence[Operand]) -> bool:
    """Whether a value is more than a bare number that could be a year."""
    return any(not value.text.strip().isdigit() for operand in operands for value in operand.values)


def _total(question: str, operands: Sequence[Operand], _root: str) -> _Read | None:
    """ "What is their total population?", but not "What did they do together?"."""
    asked = _has("sums", question) and _has("sum_openers", question, opening=True)
    if len(operands) < 2 or not asked or not _readable(operands, "number"):
        return None
    return _call(Operation.SUM, operands)


def _intersection(question: str, operands: Sequence[Operand], root: str) -> _Read | None:
    """ "Which countries do they have in common?", or "Which of [1] and [2] …" if the whole question asks for that."""
    of_these = _has("of_these", question, opening=True) and re.match(
        rf"\w+ \w+ {_A_REFERENCE}(?:,? {_A_REFERENCE})*,? \w+ {_A_REFERENCE}", question
    )
    meant = _has("common", question) or (of_these and _has("common", root))
    if len(operands) < 2 or _asks_verdict(question) or not meant:
        return None
    return _call(Operation.INTERSECT, operands)


# Nodes computed from the results of other nodes.


def evidence_of(known: Iterable[Result]) -> tuple[list[Evidence], list[str]]:
    """All evidence of the results, and the ids of what they cite."""
    evidence: list[Evidence] = []
    cited: list[str] = []
    for result in known:
        add_evidence(evidence, result.evidence)
        cited.extend(item for item in result.cited if item not in cited)
    return evidence, cited


def computed_node(tree: Tree, node: Node, results: Mapping[int, Result]) -> Result:
    """The result of a node's operation. If there is none, nothing else answers the node, not even a guess."""
    assert node.operation is not None
    operands: list[Operand | str] = []
    known: list[Result] = []
    for argument in node.operation.operands:
        if isinstance(argument, Literal):
            operands.append(argument.text)
        else:
            operands.extend(_operand(tree, i, results) for i in argument.ids)
            known.extend(results.get(i, Result()) for i in argument.ids)
    computed = compute(node.operation, operands, f"{node.question} {tree.question}")
    return _result(computed, known, "computed")


def computed_question(tree: Tree, node: Node, ids: Sequence[int], results: Mapping[int, Result]) -> Result | None:
    """The result of a question over other nodes if it clearly asks for an operation; else None."""
    operands = [_operand(tree, i, results) for i in ids]
    computed = symbolic_compute(node.instruction or node.question, operands, tree.question)
    return _result(computed, [results[i] for i in ids], "symbolic") if computed is not None else None


def _operand(tree: Tree, node_id: int, results: Mapping[int, Result]) -> Operand:
    """A node's answer as an operand."""
    result = results.get(node_id, Result())
    node = tree.node(node_id)
    head = node.call.arguments[0] if node.call is not None else None
    heads = sum(len(results[i].values) for i in head.ids if i in results) if isinstance(head, References) else 1
    return Operand(
        node_id,
        fill_question(tree, node.question, results),
        result.values,
        subjects(tree, node_id, results),
        result.without,
        result.none,
        several_heads=heads > 1,
    )


def _result(computed: Computed, known: Sequence[Result], method: Method) -> Result:
    evidence, cited = evidence_of(known)
    confidence = product_confidence(*(result.confidence for result in known if result.values))
    if confidence is not None:
        confidence *= computed.share
    found = bool(computed.values)
    notes = list(computed.notes)
    if computed.computation.startswith("count("):  # what a step left out was not counted
        notes += [note for result in known for note in result.dropped if note not in notes]
    return Result(
        computed.values,
        method if found else None,
        confidence if found else None,
        evidence,
        cited=cited if found else [],
        computation=computed.computation or None,
        dropped=notes,
        computed=True,
        reason=computed.reason,
        none=computed.none,
        signals={"covered": round(computed.share, 4)} if computed.share < 1 else {},
    )
