"""GBNF building blocks: terminals, and rules for runs of words from a text."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence

from atomr_local.language.sentences import CHARACTERS_A_WORD, pieces, unspaced

LONGEST_RUN = 10
_OPENING = "\"'([{“‘«"
_CLOSING = "\"')]}”’»?!.,;:([{"
_ABBREVIATION = re.compile(r"(?:[^\W\d_]\.)+|(?:Jr|Sr|Inc|Ltd|Co|Corp|St|Dr|No)\.")


def literal(text: str) -> str:
    """`text` as a quoted GBNF terminal: printable ASCII as it is, all else escaped."""
    return f'"{"".join(_escaped(character) for character in text)}"'


def _escaped(character: str) -> str:
    if character in '"\\':
        return f"\\{character}"
    if " " <= character <= "~":
        return character
    return f"\\U{ord(character):08X}" if ord(character) > 0xFFFF else f"\\u{ord(character):04X}"


def word_runs(
    rules: dict[str, str],
    name: str,
    texts: Sequence[str],
    encode: Callable[[str], str] = lambda text: text,
    first: Callable[[str], bool] = lambda word: any(map(str.isalnum, word)),
    longest: int = LONGEST_RUN,
) -> None:
    """Add the rule `name`: any run of words that stand beside each other in one of the texts.

    A run may leave out the quotes and brackets before its first word, the punctuation after its last one, and a
    possessive ending. In scripts without spaces every character is a word. `name` is only added when there
    is a run. A grammar cannot count, so each word has a rule for every number of words that may still follow.

    Args:
        rules: rule bodies by rule name.
        encode: how words are written in the output, for instance with JSON's escapes.
        first: whether a run may begin with a word.
        longest: words of a run at most.
    """
    starts: dict[str, None] = {}
    for number, text in enumerate(texts):
        words = pieces(text)
        # A grammar is a rule for each word and place in a run: characters are many, so their runs may be longer.
        limit = longest * CHARACTERS_A_WORD if unspaced(text) else longest
        for index, (word, gap) in enumerate(words):
            for before in range(min(index, limit - 1) + 1):
                after = min(limit, len(words) - index + before) - 1 - before
                more = f"{name}-{number}-{index + 1}-{after - 1}" if after else ""
                rules[f"{name}-{number}-{index}-{after}"] = _endings(word, gap, more, encode)
            if not first(word):
                continue
            left = min(limit, len(words) - index) - 1
            start = f"{name}-{number}-{index}-{left}"
            bare = first_form(word)
            if bare != word:
                more = f"{name}-{number}-{index + 1}-{left - 1}" if left else ""
                start = f"{name}-{number}-{index}-bare"
                rules[start] = _endings(bare, gap, more, encode)
            starts[start] = None
    if starts:
        rules[name] = " | ".join(starts)


def is_word_run(text: str, texts: Sequence[str], longest: int = LONGEST_RUN) -> bool:
    """Whether the text is one that the rule of :func:`word_runs` allows, with its other arguments left alone."""
    for source in texts:
        words = pieces(source)
        limit = longest * CHARACTERS_A_WORD if unspaced(source) else longest
        for index, (word, gap) in enumerate(words):
            if any(map(str.isalnum, word)) and text.startswith(first_form(word)[:1]):
                run = [(first_form(word), gap), *words[index + 1 : index + limit]]
                if _is_run(text, run):
                    return True
    return False


def _is_run(text: str, words: Sequence[tuple[str, str]]) -> bool:
    at = 0
    for word, gap in words:
        if text[at:] in last_forms(word):
            return True
        if not text.startswith(word + gap, at):
            return False
        at += len(word + gap)
    return False


def whole_numbers(low: int, high: int) -> str:
    """GBNF of the whole numbers from `low` to `high`, without signs or zeros that are not needed."""
    choices = [f'"-" ({_numbers(max(1, -high), -low)})'] if low < 0 else []
    if high >= 0:
        choices.append(_numbers(max(0, low), high))
    return " | ".join(choices)


def _numbers(low: int, high: int) -> str:
    choices = []
    while low <= high:
        most = min(high, 10 ** len(str(low)) - 1)  # of as many digits
        choices.append(_digits(str(low), str(most)))
        low = most + 1
    return " | ".join(choices)


def _digits(low: str, high: str) -> str:
    """The numbers between two of equally many digits."""
    if len(low) == 1:
        return f"[{low}-{high}]"
    rest = len(low) - 1
    first, last = int(low[0]), int(high[0])
    if first == last:
        return f'"{first}" ({_digits(low[1:], high[1:])})'
    choices = []
    if int(low[1:]):
        choices.append(f'"{first}" ({_digits(low[1:], "9" * rest)})')
        first += 1
    upper = [f'"{last}" ({_digits("0" * rest, high[1:])})'] if high[1:] != "9" * rest else []
    last -= len(upper)
    if first <= last:
        choices.append(f"[{first}-{last}] [0-9]{{{rest}}}")
    return " | ".join(choices + upper)


def last_forms(word: str) -> list[str]:
    """How a word may end a run: without the punctuation behind it, and without a possessive ending."""
    bare = word.rstrip(_CLOSING) or word
    forms = [bare, bare.removesuffix("'s").removesuffix("’s")]
    dotted = bare + "."
    if word.startswith(dotted) and _ABBREVIATION.fullmatch(dotted.lstrip(_OPENING)):
        forms.append(dotted)
    balanced = word.rstrip("?!.,;:")
    if balanced.endswith((")", "]")):
        forms.append(balanced)
    return [form for form in dict.fromkeys(forms) if form]


def first_form(word: str) -> str:
    """How a word may begin a run: without the quotes and brackets before it."""
    return word.lstrip(_OPENING)


def _endings(word: str, gap: str, more: str, encode: Callable[[str], str]) -> str:
    choices = [literal(encode(form)) for form in last_forms(word)]
    if more:
        choices.append(f"{literal(encode(word + gap))} {more}")
    return " | ".join(choices)
