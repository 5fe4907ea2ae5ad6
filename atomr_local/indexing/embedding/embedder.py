"""Sentence embeddings, from a local directory only."""

from __future__ import annotations

import contextlib
import hashlib
import io
import json
import re
import sys
import threading
from collections.abc import Callable, Iterable, Sequence
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, Protocol

from atomr_local.errors import MissingPartError, ModelError
from atomr_local.indexing.embedding.bert import Unsuited, read_object
from atomr_local.system.installation import add_packages
from atomr_local.system.offline_imports import import_sentence_transformers

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from atomr_local.indexing.embedding.bert import BertEncoder


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
    `bert.py`), sentence-transformers with torch for any other model and where onnxruntime is missing or
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
        from atomr_local.indexing.embedding.bert import BertEncoder, Unsuited

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


def load_torch_model(kind: Literal["SentenceTransformer", "CrossEncoder"], directory: Path, what: str) -> Any:
    """A model of this class of sentence-transformers, from a local directory, on the processor.

    A cross-encoder is read from safetensors alone, without code of its own, and tells its scores as they are.

    Args:
        what: the model's name in errors.

    Raises:
        MissingPartError: the library is not installed.
        ModelError: the model cannot be loaded.
    """
    options: dict[str, Any] = {"device": "cpu", "local_files_only": True}
    try:
        with contextlib.redirect_stderr(io.StringIO()):
            library = import_sentence_transformers()
            import torch

            if kind == "CrossEncoder":
                options |= {"trust_remote_code": False, "model_kwargs": {"use_safetensors": True}}
                # The order is all that is wanted, and a sigmoid makes large scores alike.
                options["activation_fn"] = torch.nn.Identity()
            return getattr(library, kind)(str(directory), **options)
    except ImportError as error:
        raise MissingPartError(
            f"sentence-transformers cannot be loaded: {error}",
            hint=f"Install it with: {add_packages('sentence-transformers')}",
        ) from error
    except Exception as error:  # damaged weights raise SafetensorError, a plain Exception, among others
        raise ModelError(
            f"{what} in {directory} cannot be loaded: {error}", hint="Check that its files are complete."
        ) from error


class _TorchRuntime:
    """The model run by sentence-transformers."""

    def __init__(self, directory: Path) -> None:
        self._model = load_torch_model("SentenceTransformer", directory, "the embedder")
        self._lock = threading.Lock()
        version = sys.modules["torch"].__version__
        self.backend = f"torch {version} {str(self._model.dtype).removeprefix('torch.')}"
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


# How many tokens an embedder makes of a word, and how many it reads: the budget of passages.

TOKENIZER = "tokenizer.json"
_MOST = 512  # longer passages say too many things for one vector
_CACHED = 1 << 17  # words; then they are counted anew
# Longer "words" are broken texts, which are cut in any case; no token is shorter than a character.
_LONG = 200
# Printable ASCII but an opening bracket.
_PLAIN = re.compile(r"[!-Z\\-~]+")
_RUN = re.compile(r"[0-9A-Za-z]+")
_BERT_KINDS = ("BertNormalizer", "BertPreTokenizer", "WordPiece")


class TokenCounts:
    """Counts the tokens of words with the tokenizer in a model's directory. It may go to another process.

    Attributes:
        directory: the model's.
        most: tokens of a text that the model reads, without those that begin and end it; at most 512.
    """

    def __init__(self, directory: Path) -> None:
        self.directory = directory
        self.most = min(_longest(directory), _MOST) - 2

    def __reduce__(self) -> tuple[Any, ...]:
        return TokenCounts, (self.directory.absolute(),)

    def of_words(self, words: Iterable[str]) -> int:
        """Tokens of the words together, each as it stands alone."""
        return sum(map(self._counts.__getitem__, words))

    @cached_property
    def _counts(self) -> _Counts:
        return _Counts(self.directory / TOKENIZER)


class _Counts(dict[str, int]):
    """Word → tokens, counted when it is asked for: known words cost a look into a dictionary and nothing more."""

    def __init__(self, file: Path) -> None:
        from tokenizers import Tokenizer

        super().__init__()
        self._tokenizer: Any = Tokenizer.from_file(str(file))
        self._tokenizer.no_truncation()
        self._tokenizer.no_padding()
        self._bert = _plain_bert(file)

    def __missing__(self, word: str) -> int:
        if len(word) > _LONG:
            return len(word)
        count = self._of_parts(word) if self._bert is not None and _PLAIN.fullmatch(word) else self._counted(word)
        if len(self) >= _CACHED:
            self.clear()
        self[word] = count
        return count

    def _of_parts(self, word: str) -> int:
        """Tokens of a word that the tokenizer parts into runs of letters and digits, and single marks."""
        assert self._bert is not None
        whole, lowercase = self._bert
        runs = _RUN.findall(word)
        marks = len(word) - sum(map(len, runs))
        if lowercase:
            runs = [run.lower() for run in runs]
        return marks + sum(1 if run in whole else self._counted_once(run) for run in runs)

    def _counted_once(self, run: str) -> int:
        count = self.get(run)
        if count is None:
            count = self[run] = self._counted(run)
        return count

    def _counted(self, word: str) -> int:
        text = word.encode("utf-8", "replace").decode("utf-8")
        return len(self._tokenizer.encode(text, add_special_tokens=False))


def _plain_bert(file: Path) -> tuple[frozenset[str], bool] | None:
    """What counts the tokens of a plain word without the tokenizer in the file; None where that is not BERT's.

    BERT's parts words at every mark, and WordPiece takes the longest piece that it knows, so that a run in its
    vocabulary is one token (Devlin et al. 2019; Wu et al. 2016, section 4.1).

    Returns:
        The runs of letters and digits of ASCII that are one token, and whether words are made lower case before.
    """
    try:
        found = json.loads(file.read_bytes())
        model, normalizer = found["model"], found["normalizer"]
        kinds = (normalizer["type"], found["pre_tokenizer"]["type"], model["type"])
        longest = int(model["max_input_chars_per_word"])
        # An added token is found before words are parted; one that has a bracket is in no plain word.
        bracketed = all("[" in str(added["content"]) for added in found["added_tokens"])
        whole = frozenset(run for run in model["vocab"] if _RUN.fullmatch(run) and len(run) <= longest)
        lowercase = bool(normalizer["lowercase"])
    except (OSError, ValueError, LookupError, TypeError):
        return None
    return (whole, lowercase) if bracketed and kinds == _BERT_KINDS else None


def token_counts(directory: Path) -> TokenCounts | None:
    """The counter of the model in `directory`; None for a model without such a tokenizer."""
    return TokenCounts(directory) if (directory / TOKENIZER).is_file() else None


def _longest(directory: Path) -> int:
    """Tokens that the model reads, as its configuration says; 512 where it does not say."""
    for name, key in (("sentence_bert_config.json", "max_seq_length"), ("config.json", "max_position_embeddings")):
        try:
            value = read_object(directory / name).get(key)
        except Unsuited:
            continue
        if type(value) is int and value > 16:
            return value
    return _MOST
