"""The vocabulary of a model file; refuses what crashes llama.cpp (src/llama-vocab.cpp)."""

from __future__ import annotations

import re
from array import array
from collections.abc import Sequence
from dataclasses import dataclass

TOKENS = "tokenizer.ggml.tokens"
TOKEN_TYPES = "tokenizer.ggml.token_type"  # noqa: S105
_MODEL = "tokenizer.ggml.model"
_BYTE = 6  # llama_token_type
_BYTE_TEXT = re.compile(rb"<0x[0-9A-Fa-f]{2}>")
# Tokenizers that write a byte which no token holds as the token of that byte, and know no other way.
_FALL_BACK_TO_BYTES = ("llama", "plamo2")
# Tokenizers that this program runs models with; "none" has no texts, "test" is llama.cpp's own.
_KNOWN = ("gpt2", "llama", "bert", "t5", "rwkv", "plamo2", "gemma4")


@dataclass(frozen=True, slots=True)
class TokenVocabulary:
    """Attributes: count: tokens; problem: what is wrong with them, empty when nothing is."""

    count: int
    problem: str = ""

    @classmethod
    def of(
        cls, tokens: Sequence[bytes], types: array[int] | None, values: dict[str, int | float | bool | str]
    ) -> TokenVocabulary:
        """Look at the tokens of a file with these header values."""
        return cls(len(tokens), _problem(tokens, types, values.get(_MODEL)))


def _problem(tokens: Sequence[bytes], types: array[int] | None, model: object) -> str:
    if not tokens:
        return "it has no tokens"
    if model not in _KNOWN:
        return f"{_MODEL} is {str(model)[:40]!r}"
    # llama.cpp reads a token up to its first null byte, gives an empty one such a text, and asserts that all differ.
    texts = [token.partition(b"\0")[0] or b"[EMPTY_%d]" % number for number, token in enumerate(tokens)]
    known = set(texts)
    if len(known) < len(texts):
        return f"{len(texts) - len(known)} of its {len(texts)} tokens occur twice"
    return _byte_problem(texts, types) or (_fallback_problem(known) if model in _FALL_BACK_TO_BYTES else "")


def _byte_problem(texts: Sequence[bytes], types: array[int] | None) -> str:
    """The byte of such a token is read from its text, unchecked (token_to_byte)."""
    if types is None:
        return ""
    if len(types) < len(texts):
        return f"{TOKEN_TYPES} has {len(types)} items for {len(texts)} tokens"
    for number, token in enumerate(texts):
        if types[number] == _BYTE and not _BYTE_TEXT.fullmatch(token):
            return f"token {number} stands for a byte and is called {token[:40]!r}"
    return ""


def _fallback_problem(known: set[bytes]) -> str:
    """Text with a byte that no token holds is an uncaught exception (byte_to_token)."""
    for byte in range(256):
        if b"<0x%02X>" % byte not in known and bytes([byte]) not in known:
            return f"no token stands for the byte {byte:#04x}"
    return ""
