"""Plans while they are made: steps that know their values where facts are at hand, and their compact notation.

Inside texts, a name is one private character (:func:`name_mark`) and an earlier step another (:attr:`Step.mark`), so
that the surface of a question may change without touching either.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

_NAMES = 0xE000
_STEPS = 0xF000


def name_mark(number: int) -> str:
    """The character that stands for the question's name of this number."""
    return chr(_NAMES + number)


def is_name_mark(character: str) -> bool:
    return _NAMES <= ord(character) < _STEPS


@dataclass(frozen=True)
class Value:
    """A value found: its text, and what it was asked of.

    Attributes:
        text: label of an entity, or a literal as the facts write it.
        of: the value it is an attribute of; None where it is none.
    """

    text: str
    of: Value | None = None

    def entity(self) -> Value:
        """What a comparison of such values names: the innermost thing the value is an attribute of."""
        return self.of or self


@dataclass(eq=False)
class Step:
    """One line of a plan. `call` holds marks; `values` is None where no facts tell them."""

    question: str
    call: str = ""
    values: list[Value] | None = None
    children: list[Step] = field(default_factory=list)
    number: int = 0


class Plan:
    """The steps of a question, in order."""

    def __init__(self) -> None:
        self.steps: list[Step] = []
        self._all: list[Step] = []

    def mark(self, step: Step) -> str:
        """The character that stands for the step in questions and calls."""
        if step not in self._all:
            self._all.append(step)
        return chr(_STEPS + self._all.index(step))

    def add(self, question: str, call: str, values: list[Value] | None, among: list[Step] | None = None) -> Step:
        """A step at the end of the plan, or of the list given."""
        step = Step(question, call, values)
        self.mark(step)
        (self.steps if among is None else among).append(step)
        return step

    def group(self, question: str, children: Sequence[Step]) -> Step:
        """A step answered by the steps below it; its value is the last one's."""
        step = Step(question, "", children[-1].values, list(children))
        self.mark(step)
        self.steps.append(step)
        return step

    def lines(self) -> list[str]:
        """The steps in compact notation, numbered breadth first, with the names still marked."""
        level, number = list(self.steps), 0
        while level:
            for step in level:
                number += 1
                step.number = number
            level = [child for step in level for child in step.children]
        numbers = {self.mark(step): f"[{step.number}]" for step in _walk(self.steps)}

        def written(text: str) -> str:
            return "".join(numbers.get(character, character) for character in text)

        found: list[str] = []

        def write(steps: Iterable[Step], depth: int) -> None:
            for step in steps:
                call = f" = {written(step.call)}" if step.call else ""
                found.append(f"{' ' * depth}{step.number}. {written(step.question)}{call}")
                write(step.children, depth + 1)

        write(self.steps, 0)
        return found


def _walk(steps: Iterable[Step]) -> Iterable[Step]:
    for step in steps:
        yield step
        yield from _walk(step.children)
