"""Sentence embeddings, from a local directory only."""

from __future__ import annotations

import contextlib
import hashlib
import io
import threading
from collections.abc import Callable, Sequence
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, Protocol

from atomr_local.errors import MissingPartError, ModelError
from atomr_local.system.installation import add_packages
from atomr_local.system.offline_imports import import_sentence_transformers

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from atomr_local.indexing.embedding.bert_encoder import BertEncoder
    from atomr_local.indexing.embedding.token_counts import TokenCounts

_WEIGHTS = ("model.safetensors", "pytorch_model.bin")
_HASHED = 1 << 20
_BATCH = 32
_THREADS = 2  # the model that answers wants the others

RuntimeName = Literal["auto", "onnxruntime", "torch"]


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
            f"{directory} contains no sentence embedder (config.json and {' or '.join(_WEIGHTS)} are needed)",
            hint="Give the directory of a sentence-transformers model, or use the starter.",
        )
    digest = hashlib.sha256((directory / "config.json").read_bytes())
    digest.update(str(weights.stat().st_size).encode())
    with weights.open("rb") as stream:
        digest.update(stream.read(_HASHED))
    return f"sentence-transformers:{digest.hexdigest()[:16]}"


class SentenceEmbedder:
    """A sentence-transformers model of a local directory, loaded on the first text.

    It is run by the lightest runtime that computes the same vectors: onnxruntime for a BERT encoder (see
    `bert_encoder.py`), sentence-transformers with torch for any other model and where onnxruntime is missing or
    fails.

    Args:
        runtime: the one to use; `auto` chooses.
        threads: of onnxruntime; torch chooses its own.
        tell: hears, once, that onnxruntime failed and torch is used instead.
    """

    def __init__(
        self,
        directory: Path,
        *,
        runtime: RuntimeName = "auto",
        threads: int = _THREADS,
        tell: Callable[[str], None] | None = None,
    ) -> None:
        self._directory = directory
        self.identity = embedder_identity(directory)
        self._wanted: RuntimeName = runtime
        self._threads = threads
        self._tell = tell
        self._lock = threading.Lock()
        self._loaded: BertEncoder | _TorchRuntime | None = None

    def __reduce__(self) -> tuple[Any, ...]:
        """A copy in another process, such as a worker of a cluster, loads the model there, for one thread."""
        runtime = self.backend.partition(" ")[0]
        return _reopened, (self._directory.absolute(), runtime, self.identity)

    @property
    def backend(self) -> str:
        """The runtime with its version and kind of numbers, for the manifest of an index; loads the model."""
        return self._runtime().backend

    @property
    def dimensions(self) -> int:
        return self._runtime().dimensions

    @cached_property
    def tokens(self) -> TokenCounts | None:
        """How many tokens it makes of words and reads of a text; None where its tokenizer is of another kind."""
        from atomr_local.indexing.embedding.token_counts import token_counts

        return token_counts(self._directory)

    def encode(self, texts: Sequence[str]) -> NDArray[np.float32]:
        import numpy as np

        runtime = self._runtime()
        if not texts:
            return np.empty((0, runtime.dimensions), dtype=np.float32)
        # Half a surrogate pair cannot be tokenised; it may stand in a file that was cut within a character.
        return runtime.encode([text.encode("utf-8", "replace").decode("utf-8") for text in texts])

    def _runtime(self) -> BertEncoder | _TorchRuntime:
        with self._lock:
            if self._loaded is None:
                self._loaded = self._load()
            return self._loaded

    def _load(self) -> BertEncoder | _TorchRuntime:
        if self._wanted == "torch":
            return _TorchRuntime(self._directory)
        from atomr_local.indexing.embedding.bert import Unsuited
        from atomr_local.indexing.embedding.bert_encoder import BertEncoder

        try:
            return BertEncoder(self._directory, self._threads)
        except ModelError:
            raise
        except Exception as error:
            if self._wanted == "onnxruntime":
                raise ModelError(
                    f"the embedder in {self._directory} cannot be run by onnxruntime: {error}",
                    hint="Let the runtime be chosen.",
                ) from error
            loaded = _TorchRuntime(self._directory)  # damage is told by its own error, and only that
            if self._tell is not None and not isinstance(error, Unsuited):
                self._tell(f"onnxruntime cannot run the embedder ({error}); torch does, which starts more slowly")
            return loaded


def _reopened(directory: Path, runtime: RuntimeName, identity: str) -> SentenceEmbedder:
    found = SentenceEmbedder(directory, runtime=runtime, threads=1)
    if found.identity != identity:
        raise ModelError(
            f"the embedder in {directory} of this machine is not the one that the others use",
            hint="Put the same model there on every machine.",
        )
    return found


class _TorchRuntime:
    """The model run by sentence-transformers."""

    def __init__(self, directory: Path) -> None:
        try:
            with contextlib.redirect_stderr(io.StringIO()):
                library = import_sentence_transformers()
                import torch

                self._model: Any = library.SentenceTransformer(str(directory), device="cpu", local_files_only=True)
        except ImportError as error:
            raise MissingPartError(
                f"sentence-transformers cannot be loaded: {error}",
                hint=f"Install it with: {add_packages('sentence-transformers')}",
            ) from error
        except Exception as error:  # damaged weights raise SafetensorError, a plain Exception, among others
            raise ModelError(
                f"the embedder in {directory} cannot be loaded: {error}", hint="Check that its files are complete."
            ) from error
        self._lock = threading.Lock()
        self.backend = f"torch {torch.__version__} {str(self._model.dtype).removeprefix('torch.')}"
        self.dimensions = int(self._model.get_embedding_dimension())

    def encode(self, texts: Sequence[str]) -> NDArray[np.float32]:
        import numpy as np

        with self._lock:
            vectors = self._model.encode(
                list(texts),
                batch_size=_BATCH,
                normalize_embeddings=True,
                show_progress_bar=False,
                convert_to_numpy=True,
            )
        return np.asarray(vectors, dtype=np.float32)
