"""The span reader: an encoder that finds the answer to a question in a passage, or reports that there is none.

It is the starter's sentence embedder with a small adapter (`scripts/train_span_reader.py`), run by onnxruntime in
milliseconds. It reads in both directions, which the language model does not, and has learnt to tell that an answer is
not there. Not a source of answers: it judges those of the language model.
"""

from __future__ import annotations

import copy
import hashlib
import json
import re
import threading
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from safetensors import SafetensorError
from safetensors.numpy import load

from atomr_local.errors import ModelError
from atomr_local.indexing.embedding.bert import BertSession, read_shape, read_weights
from atomr_local.system.files import read_regular

_CARD_BYTES = 1 << 16
_ADAPTER_BYTES = 64 << 20
_MOST_RANK = 256
_MOST_TOKENS = 512
# Tokens of an answer: a quotation of a few sentences at most.
_LONGEST_ANSWER = 200
# Two spans are the same answer where they share this much of the tokens that either has (Jaccard).
_SAME = 0.5
_THREADS = 2
_READ_CHARACTERS = 4096


@dataclass(frozen=True)
class SpanVerdict:
    """What the span reader says of a question, passages and answers.

    Attributes:
        answerable: probability that one of the passages answers the question.
        answers: for each answer the probability, in the passage that speaks for it most, of spans that are this
            answer; None if no passage holds its words.
        best: the most likely span of all passages; "" where none is likelier than that there is none.
    """

    answerable: float
    answers: tuple[float | None, ...]
    best: str


class SpanReader:
    """The encoder and its adapter, loaded. Thread-safe.

    Args:
        base: directory of the sentence embedder that the adapter was made for.
        adapter: the safetensors file, its card beside it.

    Raises:
        Unsuited: onnxruntime is not installed, or the base is not a plain BERT.
        ModelError: a file is damaged, or the adapter was made for another base.
    """

    def __init__(self, base: Path, adapter: Path, threads: int = _THREADS) -> None:
        card = _card(adapter.with_suffix(".json"))
        weights = base / "model.safetensors"
        with weights.open("rb") as stream:
            if hashlib.file_digest(stream, "sha256").hexdigest() != card["base_sha256"]:
                raise ModelError(
                    f"{adapter.name} was made for another embedder than the one in {base}",
                    hint="Install the package of the starter's embedder again.",
                )
        changes = _read_adapter(adapter)
        shape = replace(read_shape(base), longest=card["longest"])
        known = read_weights(weights)
        self._head = (changes.pop("span.weight"), changes.pop("span.bias"))
        _merge(known, changes, adapter)
        if self._head[0].shape != (2, shape.width) or self._head[1].shape != (2,):
            raise _damaged(adapter, "its last layer does not fit the encoder")
        self._session = BertSession(base, shape, threads, weights=known)
        self._counter = copy.deepcopy(self._session.tokenizer)
        self._counter.no_truncation()
        self._session.tokenizer.enable_truncation(shape.longest, strategy="only_second")
        self._room = shape.longest - 8
        self._lock = threading.Lock()

    def judge(self, question: str, passages: Sequence[str], answers: Sequence[str]) -> SpanVerdict | None:
        """What the passages say of the answers.

        Args:
            passages: each "title: text".

        Returns:
            None if there is nothing to read, or the question alone fills the encoder.
        """
        with self._lock:
            read = [one for one in (self._read(question, passage) for passage in passages) if one is not None]
        if not read:
            return None
        told: list[float | None] = []
        for answer in answers:
            each = [share for share in (one.share(answer) for one in read) if share is not None]
            told.append(max(each, default=None))
        best = max(read, key=lambda one: one.best[1])
        return SpanVerdict(1.0 - min(one.none for one in read), tuple(told), best.best[0])

    def _read(self, question: str, passage: str) -> _Read | None:
        question, passage = self._plain(question), self._plain(passage)
        if not question.strip() or not passage.strip():
            return None
        if len(self._counter.encode(question, add_special_tokens=False).ids) > self._room // 2:
            return None
        encoding = self._session.tokenizer.encode(question, passage)
        hidden, _ = self._session.read([encoding])
        logits = hidden[0] @ self._head[0].T + self._head[1]
        inside = [i for i, part in enumerate(encoding.sequence_ids) if part == 1]
        if not inside:
            return None
        return _Read(passage, [encoding.offsets[i] for i in inside], logits[[0, *inside]])

    def _plain(self, text: str) -> str:
        """As the tokenizer may see it: bounded, without half surrogate pairs and without its own marks."""
        text = text[:_READ_CHARACTERS].encode("utf-8", "replace").decode("utf-8")
        for mark in self._session.marks:
            text = text.replace(mark, " ")
        return text


class _Read:
    """One passage, read: how likely each span is the answer, all spans and "none" adding up to 1."""

    def __init__(self, passage: str, offsets: Sequence[tuple[int, int]], logits: NDArray[np.float32]) -> None:
        self._passage, self._offsets = passage, offsets
        exponents = np.exp(logits.astype(np.float64) - logits.max(axis=0))
        begins, ends = (exponents / exponents.sum(axis=0)).T
        spans = np.triu(np.outer(begins[1:], ends[1:]))
        spans = np.tril(spans, _LONGEST_ANSWER - 1)
        total = float(begins[0] * ends[0] + spans.sum())
        self._spans = spans / total
        self.none = float(begins[0] * ends[0]) / total
        first, last = np.unravel_index(int(self._spans.argmax()), self._spans.shape)
        probability = float(self._spans[first, last])
        text = passage[offsets[int(first)][0] : offsets[int(last)][1]] if probability > self.none else ""
        self.best = (text, probability)

    def share(self, answer: str) -> float | None:
        """Probability of the spans that are this answer, where it is most likely; None: it stands nowhere."""
        found = [self._near(first, last) for first, last in self._places(answer)]
        return max(found, default=None)

    def _places(self, answer: str) -> list[tuple[int, int]]:
        places = []
        for match in re.finditer(rf"(?<!\w){re.escape(answer.strip())}(?!\w)", self._passage, re.IGNORECASE):
            begin, end = match.span()
            inside = [i for i, (start, stop) in enumerate(self._offsets) if start < end and stop > begin]
            if begin < end and inside:
                places.append((inside[0], inside[-1]))
        return places

    def _near(self, first: int, last: int) -> float:
        """Of all spans whose tokens are mostly the same."""
        size = len(self._offsets)
        begins, ends = np.arange(size)[:, None], np.arange(size)[None, :]
        shared = np.minimum(ends, last) - np.maximum(begins, first) + 1
        either = np.maximum(ends, last) - np.minimum(begins, first) + 1
        return float(self._spans[shared >= _SAME * either].sum())


def _card(file: Path) -> dict[str, Any]:
    try:
        card = json.loads(read_regular(file, _CARD_BYTES))
    except (OSError, ValueError, RecursionError) as error:
        raise _damaged(file, str(error)) from error
    longest = card.get("longest") if isinstance(card, dict) else None
    if type(longest) is not int or not 16 <= longest <= _MOST_TOKENS or not isinstance(card.get("base_sha256"), str):
        raise _damaged(file, "it does not say what the adapter was made for")
    return dict(card)


def _read_adapter(file: Path) -> dict[str, NDArray[np.float32]]:
    """All arrays of an adapter's file, as float32."""
    try:
        found = load(read_regular(file, _ADAPTER_BYTES))
    except (SafetensorError, OSError, ValueError, KeyError) as error:
        raise _damaged(file, str(error)) from error
    arrays = {name: np.asarray(array, dtype=np.float32) for name, array in found.items()}
    if not {"span.weight", "span.bias"} <= arrays.keys() or not all(np.isfinite(a).all() for a in arrays.values()):
        raise _damaged(file, "numbers are missing")
    return arrays


def _merge(weights: dict[str, NDArray[np.float32]], changes: dict[str, NDArray[np.float32]], file: Path) -> None:
    """Add B·A to each weight that the adapter changes (Hu et al., ICLR 2022, section 4.1)."""
    for name in [name.removesuffix(".lora_a") for name in changes if name.endswith(".lora_a")]:
        down, up = changes.pop(f"{name}.lora_a"), changes.pop(f"{name}.lora_b", None)
        weight = weights.get(f"{name}.weight")
        fits = weight is not None and up is not None and down.ndim == up.ndim == 2 and len(down) <= _MOST_RANK
        if not fits or weight is None or up is None or (len(up), down.shape[1]) != weight.shape:
            raise _damaged(file, f"{name} does not fit the encoder")
        if up.shape[1] != len(down):
            raise _damaged(file, f"{name} does not fit itself")
        weights[f"{name}.weight"] = weight + up @ down
    if changes:
        raise _damaged(file, f"it holds {min(changes)}, which is not known")


def _damaged(file: Path, why: str) -> ModelError:
    return ModelError(f"{file.name} cannot be used: {why}", hint="Install the program again.")
