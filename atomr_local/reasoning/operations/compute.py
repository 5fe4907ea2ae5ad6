"""Computes typed operations over earlier answers, such as `Compare([1], [3], "earlier")`.

Each results in values and a computation that people can check. If operands do not parse, cannot be ordered or have
different units, there is no result, and a reason names the operand.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from atomr_local.reasoning.operations import amounts, order, sets
from atomr_local.reasoning.operations.operands import NotComputed, Operand, required
from atomr_local.sources.protocol import Value
from atomr_local.tree.operations import Operation, OperationCall, WordRole


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


_Made = tuple[tuple[Value, ...], str]
# The reason if there is no value, where it is known.
_NOTHING = {Operation.SELECT: "none of them satisfies it", Operation.INTERSECT: "they have nothing in common"}
# Operations that accept operands without a value.
_OVER_NOTHING = {Operation.EACH}


def _run(call: OperationCall, operands: Sequence[Operand | str], asked: str) -> _Made:
    known = [operand for operand in operands if isinstance(operand, Operand)]
    word = call.word(WordRole.DIRECTION) or call.word(WordRole.CONDITION) or call.word(WordRole.RELATION) or ""
    run: dict[Operation, Callable[[], _Made]] = {
        Operation.COMPARE: lambda: order.compare(known, word, asked),
        Operation.TOP: lambda: order.top(known, word, call.number or 1, asked),
        Operation.SORT: lambda: order.sort(known, word, asked),
        Operation.SELECT: lambda: order.select(known, operands[-1], word, asked),
        Operation.IS: lambda: sets.stands(operands[0], operands[1], word),
        Operation.ALL: lambda: sets.verdicts(known, every=True),
        Operation.ANY: lambda: sets.verdicts(known, every=False),
        Operation.DIFFERENCE: lambda: amounts.difference(known[0], known[1], call.unit),
        Operation.RATIO: lambda: amounts.ratio(known[0], known[1]),
        Operation.SUM: lambda: amounts.total(known),
        Operation.AVERAGE: lambda: amounts.average(known),
        Operation.COUNT: lambda: amounts.count(known[0]),
        Operation.UNION: lambda: sets.union(known),
        Operation.INTERSECT: lambda: sets.intersection(known),
        Operation.EXCEPT: lambda: sets.exclusion(known),
        Operation.PART: lambda: amounts.part(known[0], call.part or ""),
        Operation.CONVERT: lambda: amounts.convert(known[0], call.unit or ""),
        Operation.EACH: lambda: sets.each(known),
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
