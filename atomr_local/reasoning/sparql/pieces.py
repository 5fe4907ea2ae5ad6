"""A language of texts made of pieces: its grammar, what it accepts, and how a text is spelt in it.

A state of the language has edges; each adds a piece of text and leads to another state, or to the end.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Hashable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

from atomr_local.backbone.gbnf import literal

State = Hashable
END: State = None
_AROUND = re.compile(r"\s*([|;:<>=])\s*")


@dataclass(frozen=True)
class Edge:
    """A piece of text, the state behind it, and what the piece stands for."""

    text: str
    to: State
    sign: object = None


@dataclass(frozen=True)
class _Followed:
    """A state of the plain language, and how far each text that is left out has been followed to it."""

    plain: State
    without: frozenset[tuple[int, int]]


class Pieces:
    """The texts that lead from the state `start` to the end, without some of them."""

    def __init__(
        self, start: State, edges: Callable[[State], Sequence[Edge]], without: Sequence[Sequence[Edge]] = ()
    ) -> None:
        """Make the language.

        Args:
            edges: of a state; of a finite number of states, without circles.
            without: texts that do not belong to it, as their edges.
        """
        self._plain = edges
        self._without = tuple(map(tuple, without))
        self._start = _Followed(start, frozenset((number, 0) for number in range(len(self._without))))

    def grammar(self, rules: dict[str, str], name: str) -> None:
        """Add the rule `name`, and those that it needs, in GBNF."""
        names = {state: name if state == self._start else f"{name}-{number}" for number, state in enumerate(self._live)}
        for state, edges in self._live.items():
            ends = any(not edge.text for edge in edges)
            choices = [
                literal(edge.text) + (f" {names[edge.to]}" if edge.to is not END else "") for edge in edges if edge.text
            ]
            body = " | ".join(choices)
            rules[names[state]] = f"({body})?" if ends and body else body or '""'

    @property
    def empty(self) -> bool:
        """Whether no text is left."""
        return not self._live

    @property
    def longest(self) -> int:
        """Characters of the longest text."""
        sizes: dict[State, int] = {END: 0}

        def size(state: State) -> int:
            if state not in sizes:
                sizes[state] = max(len(edge.text) + size(edge.to) for edge in self._live[state])
            return sizes[state]

        return size(self._start) if self._live else 0

    def edges(self, text: str) -> tuple[Edge, ...] | None:
        """The edges of exactly this text; None if it is not of the language."""
        return self._walked(text, lambda piece: piece)

    def spelt(self, text: str) -> tuple[Edge, ...] | None:
        """The edges of a text that differs in capitals and spaces; None if there is none."""
        return self._walked(folded(text).strip(), folded)

    def next(self, edges: Sequence[Edge] = ()) -> Sequence[Edge]:
        """What may follow after these edges."""
        state: State = self._start
        for edge in edges:
            state = next(one.to for one in self._live[state] if (one.text, one.sign) == (edge.text, edge.sign))
        return self._live.get(state, ())

    def _walked(self, text: str, form: Callable[[str], str]) -> tuple[Edge, ...] | None:
        """Depth first: of pieces that fit, the first with which the text comes to its end."""

        def walk(state: State, at: int) -> tuple[Edge, ...] | None:
            if state is END:
                return () if at == len(text) else None
            for edge in self._live.get(state, ()):
                if (piece := form(edge.text)) or at == len(text):
                    rest = walk(edge.to, at + len(piece)) if text.startswith(piece, at) else None
                    if rest is not None:
                        return (edge, *rest)
            return None

        return walk(self._start, 0)

    @cached_property
    def _live(self) -> dict[State, tuple[Edge, ...]]:
        """The edges of every state from which the end can be reached, the start first."""
        found: dict[State, tuple[Edge, ...]] = {}

        def reach(state: State) -> bool:
            if state is END:
                return True
            if state not in found:
                found[state] = tuple(edge for edge in self._next(state) if reach(edge.to))
            return bool(found[state])

        reach(self._start)
        live = {state: edges for state, edges in found.items() if edges}
        return {self._start: live[self._start], **live} if self._start in live else {}

    def _next(self, state: State) -> Iterator[Edge]:
        if not isinstance(state, _Followed):
            return
        for edge in self._plain(state.plain):
            on = frozenset((n, k + 1) for n, k in state.without if self._is(self._without[n], k, edge))
            if edge.to is not END:
                yield Edge(edge.text, _Followed(edge.to, on), edge.sign)
            elif not any(k == len(self._without[n]) for n, k in on):
                yield edge

    @staticmethod
    def _is(path: Sequence[Edge], place: int, edge: Edge) -> bool:
        return place < len(path) and (path[place].text, path[place].sign) == (edge.text, edge.sign)


def folded(text: str) -> str:
    """A text without regard to capitals and to spaces around marks."""
    return _AROUND.sub(r"\1", re.sub(r"\s+", " ", text.casefold()))
