"""A BERT sentence encoder on onnxruntime, without torch.

It computes what sentence-transformers computes, in float32, so that vectors of either can stand in one index.
`scripts/bench/embedding.py` measures both; 8-bit weights were measured too, and change which passages are found.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from atomr_local.indexing.embedding.bert import BertSession, BertShape, Unsuited, read_json

# Tokens of a batch, padding included: more gain nothing and take memory.
_BATCH_TOKENS = 2048
_LAYERS, _WIDTH = 64, 8192
_MODULES = (["Transformer", "Pooling"], ["Transformer", "Pooling", "Normalize"])
_LIBRARY = "sentence_transformers."


def read_shape(directory: Path) -> BertShape:
    """The shape of the model in `directory`.

    Raises:
        Unsuited: it is no BERT encoder of the plain kind, or its files cannot be read.
    """
    config, modules = read_json(directory / "config.json"), read_json(directory / "modules.json")
    sentence, told = read_json(directory / "sentence_bert_config.json"), directory / "config_sentence_transformers.json"
    if not isinstance(config, dict) or not isinstance(modules, list) or not isinstance(sentence, dict):
        raise Unsuited("its configuration is of another form")
    names = [str(module.get("type", "")) if isinstance(module, dict) else "" for module in modules]
    if [name.rpartition(".")[2] for name in names] not in _MODULES or not all(n.startswith(_LIBRARY) for n in names):
        raise Unsuited("it is put together from other modules")
    prompt = read_json(told) if told.is_file() else {}
    plain = (
        config.get("model_type") == "bert"
        and config.get("hidden_act") == "gelu"
        and config.get("position_embedding_type", "absolute") == "absolute"
        and not sentence.keys() - {"max_seq_length", "do_lower_case"}
        and not sentence.get("do_lower_case")
        and modules[0].get("path") == ""
        and isinstance(prompt, dict)
        and not prompt.get("default_prompt_name")
    )
    if not plain:
        raise Unsuited("it is not a plain BERT encoder")
    positions = _whole(config, "max_position_embeddings", _WIDTH)
    longest = _whole(sentence, "max_seq_length", positions)
    width, heads = _whole(config, "hidden_size", _WIDTH), _whole(config, "num_attention_heads", _WIDTH)
    epsilon = config.get("layer_norm_eps")
    if width % heads or not isinstance(epsilon, float) or not 0 < epsilon < 1:
        raise Unsuited("its sizes do not fit each other")
    place = str(modules[1].get("path", ""))
    if place not in {"1_Pooling", "pooling"}:
        raise Unsuited("its pooling is elsewhere")
    pooling = _pooling(read_json(directory / place / "config.json"))
    return BertShape(_whole(config, "num_hidden_layers", _LAYERS), heads, width, epsilon, longest, pooling)


def _whole(values: dict[str, Any], key: str, most: int) -> int:
    value = values.get(key)
    if type(value) is not int or not 0 < value <= most:
        raise Unsuited(f"{key} is {value!r}")
    return value


def _pooling(config: Any) -> str:
    if not isinstance(config, dict):
        raise Unsuited("its pooling is of another form")
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
