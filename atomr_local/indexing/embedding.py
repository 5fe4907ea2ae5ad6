"""Sentence embeddings, from a local directory only."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray


class Embedder(Protocol):
    """Turns texts into unit vectors. Thread-safe.

    Attributes:
        identity: names the model and its weights, kept in an index so that a query with another is refused.
        dimensions: length of a vector.
    """

    @property
    def identity(self) -> str: ...

    @property
    def dimensions(self) -> int: ...

    def encode(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Unit vectors, shape (len(texts), dimensions), float32."""
        ...
