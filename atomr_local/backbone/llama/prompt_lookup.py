"""Prompt-lookup decoding: speculative decoding with drafts from known text instead of a second model.

The last tokens are looked up in the prompt, the output so far and texts that resemble it. The tokens that followed
there are evaluated in one batch with the next token. A token is kept only if the model chooses it, so greedy output
does not change (Leviathan, Kalman and Matias, ICML 2023).
"""

from __future__ import annotations

from collections.abc import Sequence

_LONGEST_MATCH = 3
_SHORTEST_MATCH = 2
# On two cores a batch is bound by arithmetic, not by memory: drafting three tokens more than halves the evaluations and
# saves a tenth of the time of a plan, drafting eight costs more than it saves (scripts/bench/backbone.py draft).
MOST_DRAFTED = 3


class PromptLookup:
    """Finds drafts for one output."""

    def __init__(self, texts: Sequence[Sequence[int]]) -> None:
        """Index token sequences; later ones take precedence."""
        self._history: list[int] = []
        self._places: dict[tuple[int, ...], int] = {}  # the last tokens → where what followed them begins
        for text in texts:
            for token in text:
                self.add(token)
            self._history.append(-1)  # no match runs from one text into the next

    def add(self, token: int) -> None:
        """Append a generated token."""
        history = self._history
        # A place is indexed one token late, when something follows that can be drafted.
        for length in range(_SHORTEST_MATCH, _LONGEST_MATCH + 1):
            before = tuple(history[-length:])
            if len(before) == length and -1 not in before:
                self._places[before] = len(history)
        history.append(token)

    def draft(self, most: int) -> tuple[int, ...]:
        """At most `most` tokens that may follow the last one; () without a match."""
        for length in range(_LONGEST_MATCH, _SHORTEST_MATCH - 1, -1):
            place = self._places.get(tuple(self._history[-length:]))
            if place is not None:
                found = self._history[place : place + max(most, 0)]
                return tuple(found[: found.index(-1)] if -1 in found else found)
        return ()
