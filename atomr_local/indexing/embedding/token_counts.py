"""How many tokens an embedder makes of a word, and how many it reads: the budget of passages."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from atomr_local.indexing.embedding.bert import Unsuited, read_object

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
        runs = _RUN.findall(word)
        marks = len(word) - sum(map(len, runs))
        if self._bert.lowercase:
            runs = [run.lower() for run in runs]
        return marks + sum(1 if run in self._bert.whole else self._counted_once(run) for run in runs)

    def _counted_once(self, run: str) -> int:
        count = self.get(run)
        if count is None:
            count = self[run] = self._counted(run)
        return count

    def _counted(self, word: str) -> int:
        text = word.encode("utf-8", "replace").decode("utf-8")
        return len(self._tokenizer.encode(text, add_special_tokens=False))


@dataclass(frozen=True)
class _Bert:
    """What of BERT's tokenizer counts the tokens of a plain word without it.

    Attributes:
        whole: runs of letters and digits of ASCII that are one token.
        lowercase: words are made lower case before.
    """

    whole: frozenset[str]
    lowercase: bool


def _plain_bert(file: Path) -> _Bert | None:
    """The tokenizer in the file, if it is BERT's: it parts words at every mark, and WordPiece takes the longest piece
    that it knows, so that a run in its vocabulary is one token (Devlin et al. 2019; Wu et al. 2016, section 4.1).
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
    return _Bert(whole, lowercase) if bracketed and kinds == _BERT_KINDS else None


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
