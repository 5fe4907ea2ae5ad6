"""How many tokens an embedder makes of a word, and how many it reads: the budget of passages."""

from __future__ import annotations

from collections.abc import Iterable
from functools import cached_property
from pathlib import Path
from typing import Any

from atomr_local.indexing.embedding.bert import Unsuited, read_object

TOKENIZER = "tokenizer.json"
_MOST = 512  # longer passages say too many things for one vector
_CACHED = 1 << 17  # words; then they are counted anew
# Longer "words" are broken texts, which are cut in any case; no token is shorter than a character.
_LONG = 200


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

    def __missing__(self, word: str) -> int:
        if len(word) > _LONG:
            return len(word)
        if len(self) == _CACHED:
            self.clear()
        text = word.encode("utf-8", "replace").decode("utf-8")
        count = self[word] = len(self._tokenizer.encode(text, add_special_tokens=False).ids)
        return count


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
