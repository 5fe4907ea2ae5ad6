"""The fields of a form. Each knows its grammar, reads its text strictly or tolerantly, and says how long it may be."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Protocol

from atomr_local.backbone.gbnf import is_word_run, literal, whole_numbers, word_runs
from atomr_local.sanitize import sanitize_line

LINE_TOKENS = 40
_CHARACTERS_A_TOKEN = 4
_RUN_TOKENS = 64
_RUN_CHARACTERS = 80
# A line is made of characters that are neither white space nor anything invisible that the sanitiser removes.
_CONTROLS = r"\x00-\x20\x7F-\xA0\u00AD\u061C\u180E\u200E\u200F\uFEFF\uFFF9-\uFFFB"
_SPACES = r"\u1680\u2000-\u200B\u2028-\u202F\u205F-\u206F\u3000"
_VISIBLE = "visible"
_VISIBLE_RULE = f"[^{_CONTROLS}{_SPACES}]"
_MARKUP = "*_`"
_QUOTES = (('"', '"'), ("'", "'"), ("“", "”"), ("«", "»"))
_ENDS = ".,;:!?"


class Field(Protocol):
    """A labelled line of a form. Ours are below; another module may have one with a language of its own."""

    @property
    def label(self) -> str: ...

    @property
    def most_tokens(self) -> int:
        """Tokens that its text may take."""
        ...

    @property
    def schema(self) -> dict[str, Any]:
        """Its text as JSON schema."""
        ...

    def add_rule(self, rules: dict[str, str], name: str) -> None:
        """Add the rule `name`, which allows what :meth:`accepts` accepts, and those that it needs."""
        ...

    def accepts(self, text: str) -> bool:
        """Whether it is a text of the field as it stands."""
        ...

    def read(self, raw: str) -> str | None:
        """The text of the field that was meant; None if none fits."""
        ...

    def refusal(self, raw: str) -> str:
        """Why nothing fits, in words."""
        ...


def _cleaned(raw: str) -> str:
    """What was written, without the markup and quotes around it."""
    text = sanitize_line(raw).strip(_MARKUP).strip()
    for opening, closing in _QUOTES:
        if len(text) > 1 and text.startswith(opening) and text.endswith(closing):
            text = text[1:-1].strip()
    return text


def _line_rule(rules: dict[str, str], name: str, characters: int) -> None:
    rules[_VISIBLE] = _VISIBLE_RULE
    rules[name] = f'{_VISIBLE} (" "? {_VISIBLE}){{0,{characters - 1}}}'


def _is_line(text: str, characters: int) -> bool:
    words = text.split(" ")
    return (
        all(re.fullmatch(f"{_VISIBLE_RULE}+", word) for word in words)
        and sum(map(len, words)) <= characters
        and bool(sanitize_line(text))
    )


def _shortened(text: str, characters: int) -> str:
    """The text up to the last word that fits."""
    while text and sum(map(len, text.split())) > characters:
        text = text.rpartition(" ")[0] if " " in text else text[:characters]
    return text


@dataclass(frozen=True)
class Line:
    """Free text on one line, of about so many tokens at most; `needed`: False for a line that may be left out."""

    label: str
    tokens: int = LINE_TOKENS
    needed: bool = True

    @property
    def _characters(self) -> int:
        return self.tokens * _CHARACTERS_A_TOKEN

    @property
    def most_tokens(self) -> int:
        # A grammar counts characters; in some scripts they are more tokens than in English.
        return 2 * self.tokens

    @property
    def schema(self) -> dict[str, Any]:
        return {"type": "string"}

    def add_rule(self, rules: dict[str, str], name: str) -> None:
        _line_rule(rules, name, self._characters)

    def accepts(self, text: str) -> bool:
        return _is_line(text, self._characters)

    def read(self, raw: str) -> str | None:
        return _shortened(_cleaned(raw), self._characters) or None

    def refusal(self, raw: str) -> str:
        return "it is empty"


@dataclass(frozen=True)
class OneOf:
    """One of the given texts, sanitised."""

    label: str
    options: tuple[str, ...]

    def __post_init__(self) -> None:
        options = tuple(dict.fromkeys(filter(None, map(sanitize_line, self.options))))
        if not options:
            raise ValueError(f"the field {self.label} has no options")
        object.__setattr__(self, "options", options)

    @property
    def most_tokens(self) -> int:
        return 4 + max(len(option.encode()) for option in self.options) // 2

    @property
    def schema(self) -> dict[str, Any]:
        return {"type": "string", "enum": list(self.options)}

    def add_rule(self, rules: dict[str, str], name: str) -> None:
        rules[name] = " | ".join(map(literal, self.options))

    def accepts(self, text: str) -> bool:
        return text in self.options

    def read(self, raw: str) -> str | None:
        return chosen(raw, self.options)

    def refusal(self, raw: str) -> str:
        return f"'{_cleaned(raw)[:60]}' is none of {', '.join(self.options)[:120]}"


def chosen(raw: str, options: tuple[str, ...]) -> str | None:
    """The option that was written: alone, at the beginning, or as the only one that occurs."""
    text = _cleaned(raw)
    if text in options:
        return text
    folded = text.casefold().strip(_ENDS + " ")
    exact = [option for option in options if option.casefold().strip(_ENDS + " ") == folded]
    words = {option: re.compile(rf"(?<!\w){re.escape(option.casefold())}(?!\w)") for option in options}
    opening = [option for option in options if words[option].match(folded)]
    inside = [option for option in options if words[option].search(folded)]
    if exact or opening:
        return exact[0] if exact else max(opening, key=len)
    return inside[0] if len(inside) == 1 else None


@dataclass(frozen=True)
class WordsOf:
    """A run of words that stand beside each other in one of the texts; where they have no words, a short free line."""

    label: str
    texts: tuple[str, ...]

    def __post_init__(self) -> None:
        object.__setattr__(self, "texts", tuple(dict.fromkeys(filter(None, map(sanitize_line, self.texts)))))

    @property
    def _free(self) -> bool:
        return not any(map(str.isalnum, "".join(self.texts)))

    @property
    def most_tokens(self) -> int:
        return _RUN_TOKENS

    @property
    def schema(self) -> dict[str, Any]:
        return {"type": "string"}

    def add_rule(self, rules: dict[str, str], name: str) -> None:
        if self._free:
            _line_rule(rules, name, _RUN_CHARACTERS)
        else:
            word_runs(rules, name, self.texts)

    def accepts(self, text: str) -> bool:
        return _is_line(text, _RUN_CHARACTERS) if self._free else is_word_run(text, self.texts)

    def read(self, raw: str) -> str | None:
        text = _cleaned(raw)
        if self._free:
            return _shortened(text, _RUN_CHARACTERS) or None
        for wanted in dict.fromkeys((text, text.rstrip(_ENDS), text.strip(_ENDS + "()[]\"'"))):
            if self.accepts(wanted):
                return wanted
            found = next(filter(self.accepts, self._spelt(wanted)), None)
            if found is not None:
                return found
        return None

    def _spelt(self, wanted: str) -> list[str]:
        """The same words as the texts write them."""
        pattern = re.compile(re.escape(wanted), re.IGNORECASE)
        return [match[0] for text in self.texts for match in pattern.finditer(text)] if wanted else []

    def refusal(self, raw: str) -> str:
        return f"'{_cleaned(raw)[:60]}' are no words of the texts"


@dataclass(frozen=True)
class Number:
    """A whole number from `low` to `high`."""

    label: str
    low: int
    high: int

    def __post_init__(self) -> None:
        if self.low > self.high:
            raise ValueError(f"the field {self.label} has no numbers")

    @property
    def most_tokens(self) -> int:
        return 2 + max(len(str(self.low)), len(str(self.high)))

    @property
    def schema(self) -> dict[str, Any]:
        return {"type": "integer", "minimum": self.low, "maximum": self.high}

    def add_rule(self, rules: dict[str, str], name: str) -> None:
        rules[name] = whole_numbers(self.low, self.high)

    def accepts(self, text: str) -> bool:
        return re.fullmatch(r"-?(?:0|[1-9][0-9]{0,40})", text) is not None and text != "-0" and self._holds(int(text))

    def read(self, raw: str) -> str | None:
        found = re.search(r"-?[0-9]{1,40}", re.sub(r"(?<=[0-9])[, ](?=[0-9]{3})", "", _cleaned(raw)))
        return str(int(found[0])) if found is not None and self._holds(int(found[0])) else None

    def _holds(self, number: int) -> bool:
        return self.low <= number <= self.high

    def refusal(self, raw: str) -> str:
        return f"'{_cleaned(raw)[:60]}' is no number from {self.low} to {self.high}"


@dataclass(frozen=True)
class Branch:
    """A choice, then the fields of what was chosen. The last field of a form or of another branch's choice."""

    label: str
    options: Mapping[str, tuple[Field, ...]]

    def __post_init__(self) -> None:
        if not self.options or any(not name or sanitize_line(name) != name for name in self.options):
            raise ValueError(f"the field {self.label} needs options that are plain lines")

    @property
    def _choice(self) -> OneOf:
        return OneOf(self.label, tuple(self.options))

    @property
    def most_tokens(self) -> int:
        return self._choice.most_tokens + max(map(lines_tokens, self.options.values()))

    @property
    def schema(self) -> dict[str, Any]:
        return self._choice.schema

    def add_rule(self, rules: dict[str, str], name: str) -> None:
        choices = []
        for number, (option, fields) in enumerate(self.options.items()):
            more = lines_rule(rules, f"{name}-{number}", fields, first=False)
            choices.append(f"{literal(option)} {more}".rstrip())
        rules[name] = " | ".join(choices)

    def accepts(self, text: str) -> bool:
        return text in self.options

    def read(self, raw: str) -> str | None:
        return chosen(raw, tuple(self.options))

    def refusal(self, raw: str) -> str:
        return self._choice.refusal(raw)


def lines_rule(rules: dict[str, str], name: str, fields: tuple[Field, ...], *, first: bool = True) -> str:
    """The body of a rule for `Label: text` lines, whose own rules are added; `first`: no line stands before them."""
    parts = []
    for number, field in enumerate(fields):
        field.add_rule(rules, f"{name}-{number}")
        part = f"{literal(('' if first and not number else chr(10)) + field.label + ': ')} {name}-{number}"
        parts.append(part if is_needed(field) else f"({part})?")
    return " ".join(parts)


def is_needed(field: Field) -> bool:
    """Whether the field has to be there."""
    return not isinstance(field, Line) or field.needed


def lines_tokens(fields: tuple[Field, ...]) -> int:
    """Tokens that the lines may take."""
    return sum(len(field.label.encode()) // 2 + 4 + field.most_tokens for field in fields)
