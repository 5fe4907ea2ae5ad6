"""The atomic knowledge operators, their calls and the arguments of these."""

from __future__ import annotations

import re
from dataclasses import dataclass
from enum import StrEnum

REFERENCE = re.compile(r"\[(\d{1,4})\]")


class Operator(StrEnum):
    """The three atomic knowledge operators (AtomR, section 3.1)."""

    SEARCH = "Search"
    RELATE = "Relate"
    FILTER = "Filter"


@dataclass(frozen=True, slots=True)
class Literal:
    """A quoted argument; `[i]` inside it stands for the answer of node i."""

    text: str

    @property
    def references(self) -> tuple[int, ...]:
        return tuple(int(match) for match in REFERENCE.findall(self.text))


@dataclass(frozen=True, slots=True)
class References:
    """A bare argument, `[3]` or `[5, 7]`: the answers of these nodes."""

    ids: tuple[int, ...]

    @property
    def references(self) -> tuple[int, ...]:
        return self.ids


Argument = Literal | References


@dataclass(frozen=True, slots=True)
class OperatorCall:
    operator: Operator
    arguments: tuple[Argument, ...]

    @property
    def references(self) -> tuple[int, ...]:
        """Ids referred to by any argument, in order, each once."""
        return tuple(dict.fromkeys(i for argument in self.arguments for i in argument.references))
