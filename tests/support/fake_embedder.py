"""An embedder without a model: a bag of hashed words. For tests of what surrounds embedding, never of its quality."""

from __future__ import annotations

import re
import zlib
from collections.abc import Sequence
from typing import Any

DIMENSIONS = 16


class FakeEmbedder:
    def __init__(self, identity: str = "fake:1") -> None:
        self.identity = identity
        self.dimensions = DIMENSIONS

    def encode(self, texts: Sequence[str]) -> Any:
        import numpy as np

        vectors = np.full((len(texts), DIMENSIONS), 0.01, dtype=np.float32)
        for row, text in enumerate(texts):
            for word in re.findall(r"\w+", text.casefold()):
                vectors[row, zlib.crc32(word.encode("utf-8", "replace")) % DIMENSIONS] += 1
        return vectors / np.linalg.norm(vectors, axis=1, keepdims=True)
