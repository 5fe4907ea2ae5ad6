"""Semantic similarity by a sentence embedder; without one, words alone decide."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from atomr_local.indexing.embedding.embedder import Embedder

# 12 MB of vectors of 384 numbers.
_KEPT = 8192
_LONGEST = 400  # characters: what comes behind says little and is paid for


class SemanticSimilarity:
    """Compares texts by meaning. Thread-safe; the same text is encoded once as long as it is remembered.

    Args:
        embedder: gives the embedder on first need; None: nothing is compared.
        tell: hears, once, that the embedder cannot be used; nothing is compared from then on.
    """

    def __init__(
        self, embedder: Callable[[], Embedder] | None, warn: Callable[[str], None] | None = None, kept: int = _KEPT
    ) -> None:
        self._embedder = embedder
        self._warn = warn
        self._kept = kept
        self._vectors: OrderedDict[str, NDArray[np.float32]] = OrderedDict()
        self._lock = threading.Lock()

    @property
    def usable(self) -> bool:
        """Whether there is an embedder, as far as is known before it is asked."""
        return self._embedder is not None

    def similarities(self, text: str, others: Sequence[str]) -> list[float] | None:
        """Cosine of each of the others with the text, -1 to 1; None if that is unknown."""
        vectors = self.vectors([text, *others])
        return None if vectors is None else [float(vectors[0] @ other) for other in vectors[1:]]

    def vectors(self, texts: Sequence[str]) -> list[NDArray[np.float32]] | None:
        """A unit vector for each text, those not met before encoded in one batch; None without a working embedder."""
        give = self._embedder
        if give is None:
            return None
        cut = [text[:_LONGEST] for text in texts]
        with self._lock:
            known = {text: self._vectors[text] for text in cut if text in self._vectors}
            for text in known:
                self._vectors.move_to_end(text)
        missing = list(dict.fromkeys(text for text in cut if text not in known))
        if missing:
            try:
                encoded = give().encode(missing)
                # Copies, so that one text that is remembered does not hold the whole batch.
                known.update((text, vector.copy()) for text, vector in zip(missing, encoded, strict=True))
            except Exception as error:  # whatever the embedder's libraries raise: words alone still serve
                self._give_up(error)
                return None
            with self._lock:
                self._vectors.update((text, known[text]) for text in missing)
                while len(self._vectors) > self._kept:
                    self._vectors.popitem(last=False)
        return [known[text] for text in cut]

    def _give_up(self, error: Exception) -> None:
        with self._lock:
            first, self._embedder = self._embedder is not None, None
        if first and self._warn is not None:
            self._warn(f"The graph compares by words alone, because the embedder cannot be used: {error}")
