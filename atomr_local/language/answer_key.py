"""Normal form of answers, by which scorers and votes compare them.

Normalisation is that of the SQuAD evaluation script (Rajpurkar et al., 2016), which HotpotQA, 2WikiMultihopQA and
MuSiQue share: lower case, ASCII punctuation removed, the articles a, an and the removed, white space
collapsed. There is one difference: a hyphen separates words ("fifth-generation" is two tokens) instead of vanishing.
"""

from __future__ import annotations

import re
import string

_ARTICLES = re.compile(r"\b(?:a|an|the)\b")
_PUNCTUATION = str.maketrans({"-": " "} | {mark: None for mark in string.punctuation if mark != "-"})


def answer_key(text: str) -> str:
    """`text` as answers are compared.

    An answer made of articles and punctuation alone ("A", "The The", "?!") keeps its lower-case form, since it
    would otherwise equal an empty one.
    """
    lowered = text.lower()
    words = _ARTICLES.sub(" ", lowered.translate(_PUNCTUATION)).split()
    return " ".join(words or lowered.split())
