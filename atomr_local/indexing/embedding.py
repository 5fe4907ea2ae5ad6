"""Sentence embeddings, from a local directory only."""

from __future__ import annotations

import contextlib
import hashlib
import io
import logging
import os
import threading
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from atomr_local.errors import MissingPartError, ModelError

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

_WEIGHTS = ("model.safetensors", "pytorch_model.bin")
_HASHED = 1 << 20
_BATCH = 32


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


def embedder_identity(directory: Path) -> str:
    """Size and hash of configuration and weights (their first MiB), so that it is quick and names the model.

    Raises:
        MissingPartError: the directory holds no sentence-transformers model.
    """
    weights = next((directory / name for name in _WEIGHTS if (directory / name).is_file()), None)
    if weights is None or not (directory / "config.json").is_file():
        raise MissingPartError(
            f"{directory} holds no sentence embedder (config.json and {' or '.join(_WEIGHTS)} are wanted)",
            hint="Give the directory of a sentence-transformers model, or use the starter.",
        )
    digest = hashlib.sha256((directory / "config.json").read_bytes())
    digest.update(str(weights.stat().st_size).encode())
    with weights.open("rb") as stream:
        digest.update(stream.read(_HASHED))
    return f"sentence-transformers:{digest.hexdigest()[:16]}"


def _import_without_sockets() -> None:
    """Import urllib3, which sentence-transformers pulls in, without its probe: at import it binds a socket to [::1]."""
    import socket

    had = socket.has_ipv6
    socket.has_ipv6 = False
    try:
        with contextlib.suppress(ImportError):
            import urllib3  # noqa: F401
    finally:
        socket.has_ipv6 = had


class SentenceEmbedder:
    """A sentence-transformers model of a local directory, loaded on the first text.

    A process that only asks the graph never pays for torch.
    """

    def __init__(self, directory: Path) -> None:
        self._directory = directory
        self._identity = embedder_identity(directory)
        self._lock = threading.Lock()
        self._model: Any = None

    @property
    def identity(self) -> str:
        return self._identity

    @property
    def dimensions(self) -> int:
        with self._lock:
            return int(self._loaded().get_embedding_dimension())

    def encode(self, texts: Sequence[str]) -> NDArray[np.float32]:
        import numpy as np

        with self._lock:
            model = self._loaded()
            if not texts:
                return np.empty((0, int(model.get_embedding_dimension())), dtype=np.float32)
            vectors = model.encode(
                list(texts),
                batch_size=_BATCH,
                normalize_embeddings=True,
                show_progress_bar=False,
                convert_to_numpy=True,
            )
        return np.asarray(vectors, dtype=np.float32)

    def _loaded(self) -> Any:
        if self._model is None:
            # The hub is probed even for a local directory unless told not to before the import.
            os.environ["HF_HUB_OFFLINE"] = os.environ["TRANSFORMERS_OFFLINE"] = "1"
            os.environ.setdefault("TOKENIZERS_PARALLELISM", "false")
            os.environ.setdefault("HF_HUB_DISABLE_TELEMETRY", "1")
            try:
                with contextlib.redirect_stderr(io.StringIO()):
                    _import_without_sockets()
                    from sentence_transformers import SentenceTransformer
                    from transformers.utils import logging as transformers_logging

                    logging.getLogger("sentence_transformers").setLevel(logging.ERROR)
                    transformers_logging.set_verbosity_error()  # type: ignore[no-untyped-call]
                    transformers_logging.disable_progress_bar()  # type: ignore[no-untyped-call]
                    self._model = SentenceTransformer(str(self._directory), device="cpu", local_files_only=True)
            except ImportError as error:
                raise MissingPartError(f"sentence-transformers cannot be loaded: {error}") from error
            except Exception as error:  # damaged weights raise SafetensorError, a plain Exception, among others
                raise ModelError(
                    f"the embedder in {self._directory} cannot be loaded: {error}",
                    hint="Check that its files are whole.",
                ) from error
        return self._model
