"""A slot: one sequence of an engine, with its prefix cache."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from atomr_local.backbone.llama.engine import AbortFlag, Engine, Part
from atomr_local.backbone.llama.prefix_cache import GRID_TOKENS, PrefixCache
from atomr_local.backbone.llama.snapshots import Snapshots


class Slot:
    """A sequence of the engine, with a prefix cache of its own; used on the engine's thread only."""

    def __init__(self, engine: Engine, number: int, snapshots: Snapshots) -> None:
        self.number = number
        self._engine = engine
        self._row = 0
        self._snapshots = snapshots
        self.cache = PrefixCache(self, GRID_TOKENS, snapshots)

    def forget(self, grid: int = GRID_TOKENS) -> None:
        """Clear the prefix cache, then evaluate in batches of `grid` tokens."""
        self.cache.clear()
        self.cache = PrefixCache(self, grid, self._snapshots)

    @property
    def can_trim(self) -> bool:
        return self._engine.can_trim

    @property
    def context_tokens(self) -> int:
        return self._engine.context_tokens

    def decode(self, tokens: Sequence[int], flag: AbortFlag) -> None:
        """Append tokens and compute the logits after the last one."""
        [self._row] = self._engine.decode([Part(self.number, tokens)], flag)

    def logits(self) -> Any:
        """The logits of this slot's own last `decode`, if nothing has been decoded since."""
        return self._engine.logits(self._row)

    def trim(self, length: int) -> bool:
        return self._engine.trim(self.number, length)

    def save(self) -> Any:
        return self._engine.save(self.number)

    def restore(self, state: Any) -> bool:
        return self._engine.restore(self.number, state)
