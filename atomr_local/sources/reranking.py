"""Reranking: a cross-encoder reorders search results."""

from __future__ import annotations

import json
import math
import re
import threading
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Literal, Protocol

from atomr_local.errors import MissingPartError, ModelError
from atomr_local.system.cancellation import Cancellation
from atomr_local.system.files import read_regular

_CONFIG_BYTES = 1 << 20
_BATCH = 8  # pairs computed together; a cancellation is seen between two batches
_LONGEST = 512  # tokens of a pair that are read, where the model would read more
_THREADS = 2  # of onnxruntime, as the embedder has; torch chooses its own
# Far more characters than so many tokens have: the tokenizer need not read a megabyte to throw it away.
_CHARACTERS = 8 * _LONGEST
_HEAD = "ForSequenceClassification"
_INCOMPLETE = "Check that its files are complete."
_TRANSFORMER = ("sentence_transformers", "Transformer")


RuntimeName = Literal["auto", "onnxruntime", "torch"]


class Reranker(Protocol):
    """Says how well passages answer a query. Thread-safe."""

    def scores(self, query: str, passages: Sequence[str], cancellation: Cancellation) -> list[float]:
        """One finite number for each passage, larger is better; comparable within one call.

        Raises:
            ModelError: the model cannot be used.
            Cancelled: `cancellation` was thrown.
        """
        ...


class _PairScorer(Protocol):
    """What computes the scores; for one thread at a time. `marks`: what its tokenizer would read as its own marks."""

    marks: Sequence[str]

    def predict(self, pairs: Sequence[tuple[str, str]]) -> list[float]: ...


class CrossEncoderReranker:
    """A cross-encoder of a local directory (Nogueira and Cho 2019), loaded on the first query. Thread-safe.

    Only safetensors weights are read, and no code that comes with a model is run. A plain BERT is run by onnxruntime
    (see `bert.py`), any other model, and where onnxruntime is missing or fails, by sentence-transformers with
    torch: the scores are the same.

    Args:
        runtime: the one to use; `auto` chooses.

    Raises:
        MissingPartError: the directory holds no model.
        ModelError: it holds a model that is not a cross-encoder with one score.
    """

    def __init__(self, directory: Path, *, runtime: RuntimeName = "auto") -> None:
        self._directory = directory
        check_cross_encoder(directory)
        self._wanted: RuntimeName = runtime
        self._lock = threading.Lock()
        self._model: _PairScorer | None = None
        self._marks: re.Pattern[str] | None = None

    def scores(self, query: str, passages: Sequence[str], cancellation: Cancellation) -> list[float]:
        with self._lock:
            if self._model is None:
                cancellation.check()
                self._model = self._load()
                marks = sorted(filter(None, self._model.marks), key=len, reverse=True)
                self._marks = re.compile("|".join(map(re.escape, marks))) if marks else None
            model, plain = self._model, self._plain(query)
            pairs = [(plain, self._plain(passage)) for passage in passages]
            # Those of like length together pad each other least.
            order = sorted(range(len(pairs)), key=lambda i: (-len(pairs[i][1]), i))
            found = [0.0] * len(pairs)
            for start in range(0, len(order), _BATCH):
                cancellation.check()
                batch = order[start : start + _BATCH]
                for i, score in zip(batch, self._predict(model, [pairs[i] for i in batch]), strict=True):
                    found[i] = score
        if not all(map(math.isfinite, found)):
            raise ModelError(f"the reranker in {self._directory} gives no numbers", hint=_INCOMPLETE)
        return found

    def _predict(self, model: _PairScorer, pairs: list[tuple[str, str]]) -> list[float]:
        try:
            return model.predict(pairs)
        except Exception as error:  # torch raises IndexError and RuntimeError for sizes that do not fit
            raise ModelError(f"the reranker in {self._directory} cannot be run: {error}", hint=_INCOMPLETE) from error

    def _plain(self, text: str) -> str:
        """The text without what the tokenizer would read as its own marks, such as [SEP], or could not read."""
        text = text[:_CHARACTERS].encode("utf-8", "replace").decode("utf-8")
        return self._marks.sub(" ", text) if self._marks is not None else text

    def _load(self) -> _PairScorer:
        if self._wanted == "torch":
            return _TorchPairs(self._directory)
        from atomr_local.indexing.embedding.bert import BertPairs

        try:
            return BertPairs(self._directory, _LONGEST, _THREADS)
        except Exception as error:
            if self._wanted == "onnxruntime":
                raise ModelError(
                    f"the reranker in {self._directory} cannot be run by onnxruntime: {error}",
                    hint="Let the runtime be chosen.",
                ) from error
            return _TorchPairs(self._directory)  # damage is told by its own error


class _TorchPairs:
    """The model run by sentence-transformers."""

    def __init__(self, directory: Path) -> None:
        from atomr_local.indexing.embedding.embedder import load_torch_model

        self._model = load_torch_model("CrossEncoder", directory, "the reranker")
        tokenizer = self._model.tokenizer
        tokenizer.model_max_length = min(tokenizer.model_max_length, _LONGEST)
        self.marks: Sequence[str] = tokenizer.all_special_tokens

    def predict(self, pairs: Sequence[tuple[str, str]]) -> list[float]:
        found = self._model.predict(list(pairs), batch_size=len(pairs), show_progress_bar=False, convert_to_numpy=True)
        return [float(score) for score in found]


def check_cross_encoder(directory: Path) -> None:
    """Make sure, from its small files, that the directory holds a cross-encoder that gives one score.

    Raises:
        MissingPartError: it holds no model.
        ModelError: the model is of another kind, or its configuration is damaged.
    """
    hint = "Set retrieval.reranker to the directory of a cross-encoder, or leave it empty."
    if not directory.is_dir():
        raise MissingPartError(f"the reranker {directory} is not a directory", hint=hint)
    if not (directory / "config.json").is_file():
        raise MissingPartError(f"{directory} contains no model (it has no config.json)", hint=hint)
    if not any(directory.glob("*.safetensors")):
        raise MissingPartError(
            f"the reranker in {directory} has no safetensors weights",
            hint="Weights of other kinds are not loaded: they may hold code. Many models come with both.",
        )
    config = _json(directory / "config.json")
    labels = config.get("id2label", config.get("num_labels", 2)) if isinstance(config, dict) else None
    count = len(labels) if isinstance(labels, dict) else labels
    kinds = config.get("architectures") if isinstance(config, dict) else None
    kind = kinds[0] if isinstance(kinds, list) and kinds else None
    if not str(kind).endswith(_HEAD):
        raise ModelError(f"the model in {directory} is not a cross-encoder: its kind is {str(kind)[:80]}", hint=hint)
    if count != 1:
        raise ModelError(
            f"the model in {directory} is not a cross-encoder for ranking: it gives {str(count)[:20]} labels, not 1",
            hint=hint,
        )
    modules = directory / "modules.json"
    if modules.is_file() and not _is_transformer(_json(modules)):
        raise ModelError(f"the model in {directory} is put together from other modules", hint=hint)


def _is_transformer(modules: Any) -> bool:
    if not isinstance(modules, list) or len(modules) != 1 or not isinstance(modules[0], dict):
        return False
    parts = str(modules[0].get("type", "")).split(".")
    return (parts[0], parts[-1]) == _TRANSFORMER and modules[0].get("path") == ""


def _json(file: Path) -> Any:
    try:
        return json.loads(read_regular(file, _CONFIG_BYTES))
    except (OSError, ValueError, RecursionError) as error:
        raise ModelError(f"{file} cannot be read: {error}", hint=_INCOMPLETE) from error
