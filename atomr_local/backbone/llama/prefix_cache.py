"""The prefix cache: finds the part of a prompt that is already evaluated.

It has two stores. The sequence still holds the previous prompt, so a prompt with the same beginning continues there.
Snapshots, shared by all slots, keep the state at the end of each static part, so that kinds of prompts can alternate.

The cache gives bit for bit what a cold evaluation computes, so an answer does not depend on earlier questions.
Floating-point sums depend on how many tokens are evaluated together. Batches are therefore always cut at the same
places: at the end of the static part, where a prompt continues an earlier call, and every GRID_TOKENS from there and
from the beginning. Reuse starts only at such a place. Generated tokens are never reused.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol

from atomr_local.backbone.llama.snapshots import Snapshots

# Processor time to read 512 tokens of the starter: 128 at a time as little as all at once, 64 at a time 6% more.
GRID_TOKENS = 128
# How many of the first tokens are the static part, and how many an earlier prompt that this one continues from.
Marks = tuple[int, int]


class TokenSequence(Protocol):
    """What the cache needs of a model (see :class:`atomr_local.backbone.llama.decoding.Slot`)."""

    @property
    def can_trim(self) -> bool: ...
    @property
    def context_tokens(self) -> int: ...
    def decode(self, tokens: Sequence[int], flag: Any) -> None: ...
    def trim(self, length: int) -> bool: ...
    def save(self) -> Any: ...
    def restore(self, state: Any) -> bool: ...


def common_prefix(first: Sequence[int], second: Sequence[int]) -> int:
    """Length of the common prefix."""
    for index, (one, other) in enumerate(zip(first, second, strict=False)):
        if one != other:
            return index
    return min(len(first), len(second))


class PrefixCache:
    """Evaluates prompts on one sequence; by default with snapshots of its own, of twice the length of a sequence."""

    def __init__(self, sequence: TokenSequence, grid: int = GRID_TOKENS, snapshots: Snapshots | None = None) -> None:
        self._sequence = sequence
        self._grid = grid
        self._live: tuple[int, ...] = ()  # the prompt tokens that the sequence begins with
        self._live_marks: Marks = (0, 0)
        self._snapshots = Snapshots(2 * sequence.context_tokens) if snapshots is None else snapshots

    def evaluate(self, tokens: Sequence[int], static: int, flag: Any, continued: int = 0) -> int:
        """Make the sequence hold exactly `tokens`, with logits after the last one.

        Args:
            static: how many of the first tokens are the static part.
            flag: passed to the sequence's decode.
            continued: how many of the first tokens are an earlier prompt; 0: the prompt continues from none.

        Returns:
            how many tokens had to be evaluated; at least 1.

        Raises:
            Cancelled, ModelError: from the sequence; the cache stays usable.
        """
        prompt = tuple(tokens)
        static = min(static, len(prompt) - 1)
        marks = (static, continued)
        try:
            start = reused = self._reuse(prompt, marks)
            for end in self._batch_ends(len(prompt), marks):
                if end <= start:
                    continue
                self._live, self._live_marks = prompt[:start], marks
                self._sequence.decode(prompt[start:end], flag)
                start = end
                if start == static:
                    self._remember(prompt[:static])
            self._live = prompt
        except BaseException:
            if not self._sequence.trim(len(self._live)):
                self._live = ()
            raise
        return len(prompt) - reused

    def reusable(self, tokens: Sequence[int], static: int, continued: int = 0) -> int:
        """How many of the first tokens the sequence holds already; 0 for a model that cannot take tokens back."""
        prompt = tuple(tokens)
        if not self._sequence.can_trim:
            return 0
        return self._usable(self._live, self._live_marks, prompt, (min(static, len(prompt) - 1), continued))

    def clear(self) -> None:
        """Forget everything."""
        self._live = ()
        self._snapshots.clear()
        self._sequence.trim(0)

    def _batch_ends(self, length: int, marks: Marks) -> list[int]:
        """Where the batches of a prompt of this length end."""
        ends: list[int] = []
        start = 0
        for mark in (*sorted({mark for mark in marks if 0 < mark < length}), length):
            ends += [*range(start + self._grid, mark, self._grid), mark]
            start = mark
        return ends

    def _usable(self, known: tuple[int, ...], known_marks: Marks, prompt: tuple[int, ...], marks: Marks) -> int:
        """How much of `known` can stand for the beginning of `prompt`: what is alike and was cut alike."""
        common = min(common_prefix(known, prompt), len(prompt) - 1)
        usable = 0
        both = zip(self._batch_ends(len(known), known_marks), self._batch_ends(len(prompt), marks), strict=False)
        for one, other in both:
            if one != other or one > common:
                break
            usable = one
        return usable

    def _reuse(self, prompt: tuple[int, ...], marks: Marks) -> int:
        """Bring the sequence to the longest known beginning of `prompt`; its length."""
        can_trim = self._sequence.can_trim
        live = self._usable(self._live, self._live_marks, prompt, marks) if can_trim else 0
        best, usable = None, live
        self._snapshots.find(prompt[: marks[0]])
        for prefix in self._snapshots:
            length = self._usable(prefix, (len(prefix), 0), prompt, marks)
            if length > usable and (can_trim or length == len(prefix)):
                best, usable = prefix, length
        if best is not None:
            restored = self._sequence.restore(self._snapshots[best])
            if restored and (usable == len(best) or self._sequence.trim(usable)):
                return usable
            if not restored:
                self._snapshots.drop(best)
            live = 0
        return live if self._sequence.trim(live) else 0

    def _remember(self, prefix: tuple[int, ...]) -> None:
        if self._snapshots.find(prefix):
            return
        state = self._sequence.save()
        if state is not None:
            self._snapshots.put(prefix, state)
