"""Names in running text, as far as capital letters tell them."""

from __future__ import annotations

import re
from collections.abc import Sequence

from atomr_local.language.names import words
from atomr_local.language.words import english

# Adjacent capitalised words, with small words between them: "Kingdom of Prussia".
_SMALL = "|".join(sorted(english().small))
_NAME = re.compile(rf"[A-Z\u00C0-\u00DE]\S*(?: (?:(?:{_SMALL}) )*[A-Z\u00C0-\u00DE]\S*)*")


def capitalised(texts: Sequence[str]) -> list[str]:
    """Runs of capitalised words in the texts, each once, in order."""
    return list(dict.fromkeys(match[0] for text in texts for match in _NAME.finditer(text)))


def names_in(texts: Sequence[str]) -> list[str]:
    """Capitalised names, without words such as "She" at the beginning of a sentence."""
    return [name for name in capitalised(texts) if not english().stop.issuperset(words(name))]
