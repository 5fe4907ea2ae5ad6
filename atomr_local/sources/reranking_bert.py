"""A BERT cross-encoder on onnxruntime, without torch.

In float32, with the scores that sentence-transformers would give; models of any other form are left to it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np

from atomr_local.indexing.embedding.bert import BertSession, BertShape, Unsuited, plain_shape, read_object


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
    config, tokens = read_object(directory / "config.json"), read_object(directory / "tokenizer_config.json")
    sentence, prompts = (
        read_object(directory / name) if (directory / name).is_file() else {}
        for name in ("sentence_bert_config.json", "config_sentence_transformers.json")
    )
    if config.get("architectures") != ["BertForSequenceClassification"]:
        raise Unsuited("it is not a plain BERT cross-encoder")
    shape = plain_shape(config, sentence, prompts, "cls")
    # Tokenizers without a limit say so by an enormous number, which may be written as a float.
    told = (tokens.get("model_max_length"), sentence.get("max_seq_length"))
    limits = [limit for limit in told if limit]
    if not all(isinstance(limit, int | float) and limit > 3 for limit in limits):
        raise Unsuited("its tokenizer's limit is not a number")
    return replace(shape, longest=int(min(longest, shape.longest, *limits)))
