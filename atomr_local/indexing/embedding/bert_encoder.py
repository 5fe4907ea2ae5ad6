"""A BERT sentence encoder on onnxruntime, without torch.

It computes what sentence-transformers computes, in float32, so that vectors of either can stand in one index.
`scripts/bench/embedding.py` measures both; 8-bit weights were measured too, and change which passages are found.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from atomr_local.indexing.embedding.bert import (
    BertSession,
    BertShape,
    Unsuited,
    plain_shape,
    read_json,
    read_object,
    whole,
)

# Tokens of a batch, padding included: more gain nothing and take memory.
_BATCH_TOKENS = 2048
_MODULES = (["Transformer", "Pooling"], ["Transformer", "Pooling", "Normalize"])
_LIBRARY = "sentence_transformers."


def read_shape(directory: Path) -> BertShape:
    """The shape of the model in `directory`.

    Raises:
        Unsuited: it is no BERT encoder of the plain kind, or its files cannot be read.
    """
    modules, prompts = read_json(directory / "modules.json"), directory / "config_sentence_transformers.json"
    if not isinstance(modules, list):
        raise Unsuited("its configuration is of another form")
    names = [str(module.get("type", "")) if isinstance(module, dict) else "" for module in modules]
    if [name.rpartition(".")[2] for name in names] not in _MODULES or not all(n.startswith(_LIBRARY) for n in names):
        raise Unsuited("it is put together from other modules")
    place = str(modules[1].get("path", ""))
    if modules[0].get("path") != "" or place not in {"1_Pooling", "pooling"}:
        raise Unsuited("its modules are elsewhere")
    sentence = read_object(directory / "sentence_bert_config.json")
    pooling = _pooling(read_object(directory / place / "config.json"))
    shape = plain_shape(
        read_object(directory / "config.json"), sentence, read_object(prompts) if prompts.is_file() else {}, pooling
    )
    return replace(shape, longest=whole(sentence, "max_seq_length", shape.longest))


def _pooling(config: dict[str, Any]) -> str:
    modes = {key.removeprefix("pooling_mode_") for key, on in config.items() if key.startswith("pooling_mode_") and on}
    if isinstance(named := config.get("pooling_mode"), str):
        modes = {named}
    for mode, keys in {"mean": {"mean_tokens", "mean"}, "cls": {"cls_token", "cls"}}.items():
        if len(modes) == 1 and modes <= keys:
            return mode
    raise Unsuited("it pools in another way")


class BertEncoder:
    """A loaded encoder. Thread-safe.

    Args:
        threads: that compute.

    Raises:
        Unsuited: sentence-transformers is needed for this model.
        ModelError: the weights are damaged.
        Exception: what onnxruntime or tokenizers raise for a model that they do not take; they have no common base.
    """

    def __init__(self, directory: Path, threads: int) -> None:
        self._shape = read_shape(directory)
        self.dimensions = self._shape.width
        self._session = BertSession(directory, self._shape, threads)
        # Every text is of the first kind: the second is for pairs.
        self._kind = self._session.weights["embeddings.token_type_embeddings.weight"][0]
        self.encode(["."])  # sizes that do not fit each other show when it runs
        self.backend = f"{self._session.runtime} float32"

    def encode(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Unit vectors, shape (len(texts), dimensions), in the order of the texts."""
        tokens = [encoding.ids for encoding in self._session.tokenizer.encode_batch(list(texts))]
        vectors = np.empty((len(tokens), self.dimensions), dtype=np.float32)
        for batch in _batches([len(ids) for ids in tokens]):
            vectors[batch] = self._run([tokens[i] for i in batch])
        return vectors

    def _run(self, tokens: list[list[int]]) -> NDArray[np.float32]:
        lengths = np.array([len(ids) for ids in tokens], dtype=np.int32)
        padded = np.zeros((len(tokens), int(lengths.max())), dtype=np.int64)
        for row, ids in enumerate(tokens):
            padded[row, : len(ids)] = ids
        hidden = self._session.hidden(padded, lengths, self._kind)
        if self._shape.pooling == "cls":
            pooled = hidden[:, 0]
        else:
            real = np.arange(padded.shape[1]) < lengths[:, None]
            pooled = np.einsum("btw,bt->bw", hidden, real.astype(np.float32)) / lengths[:, None]
        vectors: NDArray[np.float32] = pooled / np.linalg.norm(pooled, axis=1, keepdims=True).clip(1e-12)
        return vectors


def _batches(lengths: Sequence[int]) -> Iterator[list[int]]:
    """Which texts are computed together: those of like length, which pad each other least, up to a bound."""
    order = sorted(range(len(lengths)), key=lambda i: -lengths[i])
    while order:
        size = max(1, _BATCH_TOKENS // lengths[order[0]])
        yield order[:size]
        order = order[size:]
