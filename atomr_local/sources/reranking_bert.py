"""A BERT cross-encoder on onnxruntime, without torch.

In float32, with the scores that sentence-transformers would give; models of any other form are left to it.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from atomr_local.indexing.embedding.bert import BertSession, BertShape, Unsuited, read_json

_MOST = 8192  # layers, heads, width and tokens of any encoder that this is meant for
_SENTENCE_KEYS = {"max_seq_length", "do_lower_case"}


class BertPairs:
    """A loaded cross-encoder. Its methods are for one thread at a time.

    Args:
        longest: tokens of a pair that are read at most.
        threads: that compute.

    Attributes:
        marks: texts that the tokenizer reads as its own marks, such as [SEP].

    Raises:
        Unsuited: sentence-transformers is needed for this model, or onnxruntime is not installed.
        ModelError: the weights are damaged.
        Exception: what onnxruntime or tokenizers raise for a model that they do not take; they have no common base.
    """

    def __init__(self, directory: Path, longest: int, threads: int) -> None:
        shape = _shape(directory, longest)
        self._session = BertSession(directory, shape, threads)
        known = self._session.tokenizer.get_added_tokens_decoder().values()
        self.marks: Sequence[str] = [token.content for token in known if token.special]
        weights = self._session.weights
        self._kinds = weights["embeddings.token_type_embeddings.weight"]
        self._layers = [(weights[f"{at}.weight"].T, weights[f"{at}.bias"]) for at in ("pooler.dense", "classifier")]
        if len(self._kinds) != 2 or self._layers[1][0].shape != (shape.width, 1):
            raise Unsuited("its parts do not fit each other")
        self.predict([(".", ".")])  # sizes that do not fit each other show when it runs

    def predict(self, pairs: Sequence[tuple[str, str]]) -> list[float]:
        """The score of each pair, computed as one batch."""
        import numpy as np

        encodings = self._session.tokenizer.encode_batch(list(pairs))
        lengths = np.array([len(encoding.ids) for encoding in encodings], dtype=np.int32)
        tokens = np.zeros((len(encodings), int(lengths.max())), dtype=np.int64)
        kinds = np.zeros_like(tokens)
        for row, encoding in enumerate(encodings):
            tokens[row, : len(encoding.ids)] = encoding.ids
            kinds[row, : len(encoding.ids)] = encoding.type_ids
        hidden = self._session.hidden(tokens, lengths, self._kinds[kinds])
        (pool, pool_bias), (classify, bias) = self._layers
        scores: list[float] = (np.tanh(hidden[:, 0] @ pool + pool_bias) @ classify + bias)[:, 0].tolist()
        return scores


def _shape(directory: Path, longest: int) -> BertShape:
    """The shape of the encoder. Raises Unsuited for any that is not of the plain kind."""
    config, tokens = _object(directory, "config.json"), _object(directory, "tokenizer_config.json")
    sentence, prompts = (
        _object(directory, name) if (directory / name).is_file() else {}
        for name in ("sentence_bert_config.json", "config_sentence_transformers.json")
    )
    plain = (
        config.get("architectures") == ["BertForSequenceClassification"]
        and config.get("model_type") == "bert"
        and config.get("hidden_act") == "gelu"
        and config.get("position_embedding_type", "absolute") == "absolute"
        and not config.get("is_decoder")
        and not sentence.keys() - _SENTENCE_KEYS
        and not sentence.get("do_lower_case")
        and not prompts.get("default_prompt_name")
    )
    if not plain:
        raise Unsuited("it is not a plain BERT cross-encoder")
    layers, heads, width, positions = (
        _whole(config.get(key))
        for key in ("num_hidden_layers", "num_attention_heads", "hidden_size", "max_position_embeddings")
    )
    # Tokenizers without a limit say so by an enormous number, which may be written as a float.
    limits = [
        *(
            values[key]
            for values, key in ((tokens, "model_max_length"), (sentence, "max_seq_length"))
            if values.get(key)
        )
    ]
    if not all(isinstance(limit, int | float) and limit > 3 for limit in limits):
        raise Unsuited("its tokenizer's limit is not a number")
    epsilon = config.get("layer_norm_eps")
    if width % heads or not isinstance(epsilon, float) or not 0 < epsilon < 1:
        raise Unsuited("its sizes do not fit each other")
    return BertShape(layers, heads, width, epsilon, int(min(longest, positions, *limits)), "cls")


def _object(directory: Path, name: str) -> dict[str, Any]:
    found = read_json(directory / name)
    if not isinstance(found, dict):
        raise Unsuited(f"{name} is of another form")
    return found


def _whole(value: Any) -> int:
    if type(value) is not int or not 0 < value <= _MOST:
        raise Unsuited(f"a size is {value!r}")
    return value
