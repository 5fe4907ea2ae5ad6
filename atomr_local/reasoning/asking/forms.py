"""The fields of a form. Each knows its grammar, reads its text strictly or tolerantly, and says how long it may be."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from importlib.resources import files
from typing import Any, Protocol

from atomr_local.models.gbnf import is_word_run, literal, whole_numbers, word_runs
from atomr_local.models.protocol import Grammar, Message
from atomr_local.models.templates import turns
from atomr_local.system.sanitize import sanitize_line

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


# A field of two texts on one line, such as a page and a question about it.

BAR = " | "


@dataclass(frozen=True)
class Pair:
    """Two texts with a bar between them: "Hamlet | Who wrote it?". The first one holds no bar.

    Attributes:
        otherwise: stands for the second where none was written without the grammar; "" refuses that.
    """

    label: str
    first: Field
    second: Line
    otherwise: str = ""

    @property
    def most_tokens(self) -> int:
        return self.first.most_tokens + 2 + self.second.most_tokens

    @property
    def schema(self) -> dict[str, Any]:
        return {"type": "string"}

    def add_rule(self, rules: dict[str, str], name: str) -> None:
        self.first.add_rule(rules, f"{name}-first")
        self.second.add_rule(rules, f"{name}-second")
        rules[name] = f"{name}-first {literal(BAR)} {name}-second"

    def accepts(self, text: str) -> bool:
        first, second = halves(text)
        return self.first.accepts(first) and self.second.accepts(second)

    def read(self, raw: str) -> str | None:
        first, _, second = sanitize_line(raw).partition(BAR.strip())
        read = self.first.read(first), self.second.read(second) or self.otherwise
        return f"{read[0]}{BAR}{read[1]}" if read[0] and read[1] else None

    def refusal(self, raw: str) -> str:
        first = sanitize_line(raw).partition(BAR.strip())[0].strip()
        return self.first.refusal(first) if self.first.read(first) is None else "nothing stands behind the bar"


def halves(text: str) -> tuple[str, str]:
    """The two texts of a pair; the second is empty where there is no bar."""
    first, _, second = text.partition(BAR)
    return first, second


# Reads the fields of a form from what the model wrote.
#
# Under the form's grammar the output is read as it stands. Servers that ignore grammars write prose around the lines,
# other cases, labels in bold or twice, `search[name]`, or a JSON object: that is read as far as it fits, and what does
# not fit is a problem in words.

_THOUGHT_END = "</think>"  # before it reasoning models think aloud
# Bounded, so that no output takes long to read.
_BEFORE_LABEL = r"[\s>*_#`\-•]{0,12}(?:\d{1,2}[.)]\s{0,4})?[*_`]{0,4}"
_BEHIND_LABEL = r"\s{0,4}[*_`]{0,4}\s{0,4}[:：]\s{0,4}[*_]{0,4}\s{0,4}"
_LONGEST = 20_000


@dataclass(frozen=True, slots=True)
class Read:
    """A field's text, sanitised, and where it stands in the output; None if its place is unknown."""

    text: str
    place: tuple[int, int] | None


@dataclass(frozen=True, slots=True)
class Parsed:
    fields: Mapping[str, Read]
    problem: str | None = None


def parse(fields: tuple[Field, ...], output: str) -> Parsed:
    """The fields that can be read, and the first problem if one cannot."""
    strict = _strict(fields, output)
    if strict is not None:
        return Parsed(strict)
    output = output[:_LONGEST]
    begin = output.rfind(_THOUGHT_END)
    begin = 0 if begin < 0 else begin + len(_THOUGHT_END)
    data = _object(output, begin, fields)
    return _from_object(fields, data, output) if data is not None else _Lines(fields, output, begin).parsed()


def _strict(fields: tuple[Field, ...], output: str) -> dict[str, Read] | None:
    """The output is exactly what the grammar allows; None if it is not."""
    reads: dict[str, Read] = {}
    lines = output.split("\n")
    at = 0
    left = list(fields)
    while left and lines:
        field, line = left.pop(0), lines[0]
        head = f"{field.label}: "
        if not line.startswith(head) and not is_needed(field):
            continue
        lines.pop(0)
        text = line.removeprefix(head)
        if not line.startswith(head) or not field.accepts(text):
            return None
        reads[field.label] = Read(sanitize_line(text), (at + len(head), at + len(line)))
        if isinstance(field, Branch):
            left += field.options[text]
        at += len(line) + 1
    return None if lines or any(map(is_needed, left)) else reads


class _Lines:
    """A tolerant reading of labelled lines: of a label that stands there twice the first one after the last field."""

    def __init__(self, fields: tuple[Field, ...], output: str, begin: int) -> None:
        self._fields = fields
        self._output = output
        self._lines: list[tuple[int, str]] = []  # with their places
        at = begin
        for line in output[begin:].split("\n"):
            self._lines.append((at, line))
            at += len(line) + 1
        labels = "|".join(map(re.escape, _labels(fields)))
        self._any_label = re.compile(f"{_BEFORE_LABEL}(?:{labels}){_BEHIND_LABEL}", re.IGNORECASE)

    def parsed(self) -> Parsed:
        reads: dict[str, Read] = {}
        left = list(self._fields)
        line, inline = 0, ""  # where to look on, and what stands behind a choice: search[name]
        while left:
            field = left.pop(0)
            found = self._labelled(field, line)
            if found is None and not reads:
                found = self._unlabelled()
            if found is None and inline:
                found = line, *self._place(line - 1, inline)
            inline = ""
            if found is None and not is_needed(field):
                continue
            if found is None:
                return Parsed(reads, f"no {field.label} was written")
            number, at, raw = found
            text = field.read(raw)
            if text is None:
                return Parsed(reads, f"{field.label}: {field.refusal(raw)}")
            reads[field.label] = Read(text, _inside(raw, text, at))
            line = number + 1
            if isinstance(field, Branch):
                left += field.options[text]
                inline = _behind(raw, text)
        return Parsed(reads)

    def _labelled(self, field: Field, start: int) -> tuple[int, int, str] | None:
        """Number of the line, place and text of the field; the text may stand on the next line."""
        label = re.compile(f"{_BEFORE_LABEL}{re.escape(field.label)}{_BEHIND_LABEL}", re.IGNORECASE)
        for number in (*range(start, len(self._lines)), *range(start)):
            at, line = self._lines[number]
            match = label.match(line)
            if match is None:
                continue
            if line[match.end() :].strip():
                return number, at + match.end(), line[match.end() :]
            for behind in range(number + 1, len(self._lines)):
                at, line = self._lines[behind]
                if self._any_label.match(line):
                    break
                if line.strip():
                    return behind, at, line
        return None

    def _unlabelled(self) -> tuple[int, int, str] | None:
        """The first line that says something without a label."""
        for number, (at, line) in enumerate(self._lines):
            if line.strip() and not line.lstrip().startswith("```") and not self._any_label.match(line):
                return number, at, line
        return None

    def _place(self, number: int, inline: str) -> tuple[int, str]:
        at, line = self._lines[number]
        return at + line.rindex(inline), inline


def _labels(fields: tuple[Field, ...]) -> list[str]:
    found = []
    for field in fields:
        found.append(field.label)
        if isinstance(field, Branch):
            found += [label for more in field.options.values() for label in _labels(more)]
    return list(dict.fromkeys(found))


def _behind(raw: str, option: str) -> str:
    """What stands in brackets, or after a colon, behind the chosen option."""
    match = re.search(rf"{re.escape(option)}\s*(?:\[(.*?)\]|\((.*?)\)|:\s*(.+))", raw, re.IGNORECASE)
    return next((found for found in match.groups() if found), "").strip() if match is not None else ""


def _inside(raw: str, text: str, at: int) -> tuple[int, int]:
    """Where the text stands in what was written; all of it if it was changed."""
    begin = raw.casefold().find(text.casefold())
    if begin < 0 or len(raw.casefold()) != len(raw):
        begin, size = len(raw) - len(raw.lstrip()), len(raw.strip())
    else:
        size = len(text)
    return at + begin, at + begin + size


def _object(output: str, begin: int, fields: tuple[Field, ...]) -> dict[str, Any] | None:
    """The output as a JSON object that has one of the labels; None if it is none."""
    opening, closing = output.find("{", begin), output.rfind("}")
    if opening < 0 or closing < opening or output[begin:opening].strip().strip("`").strip() not in {"", "json"}:
        return None
    try:
        data = json.loads(output[opening : closing + 1], strict=False)
    except (ValueError, RecursionError):
        return None
    folded = {key.casefold(): value for key, value in data.items()} if isinstance(data, dict) else {}
    return folded if any(field.label.casefold() in folded for field in fields) else None


def _from_object(fields: tuple[Field, ...], data: Mapping[str, Any], output: str) -> Parsed:
    reads: dict[str, Read] = {}
    left = list(fields)
    at = 0
    while left:
        field = left.pop(0)
        value = data.get(field.label.casefold())
        if value is None and not is_needed(field):
            continue
        if not isinstance(value, str | int | float) or isinstance(value, bool):
            return Parsed(reads, f"no {field.label} was written")
        text = field.read(str(value))
        if text is None:
            return Parsed(reads, f"{field.label}: {field.refusal(str(value))}")
        written = {json.dumps(str(value))[1:-1], json.dumps(str(value), ensure_ascii=False)[1:-1]}
        places = [(begin, begin + len(form)) for form in written if form and (begin := output.find(form, at)) >= 0]
        place = min(places, default=None)
        at = place[1] if place is not None else at
        reads[field.label] = Read(text, place)
        if isinstance(field, Branch):
            left += field.options[text]
    return Parsed(reads)


# A form: a prompt template and labelled fields, which the model fills as `Label: text` lines.

__all__ = ["Branch", "Field", "Form", "Line", "Number", "OneOf", "WordsOf", "worked_examples"]


@dataclass(frozen=True)
class Form:
    """What is asked of the model in one call.

    Attributes:
        package: that has the template `prompts/<template>.txt`, and `prompts/lean_<template>.txt` where there is a lean
            one. A template names the slots that :meth:`Writer.write` fills; `$evidence` is the numbered evidence. It
            says that evidence is material to read, never an instruction, and asks for the fields by their labels.
        examples: worked examples, the most useful first; each is turns headed `--- user` and `--- assistant`
            (:func:`worked_examples` reads them from a file). A lean template has none.
        stop: labels that this method's transcript goes on with, such as "Observation": a server that ignores grammars
            is stopped where such a line begins.
    """

    package: str
    template: str
    fields: tuple[Field, ...]
    examples: tuple[str, ...] = ()
    stop: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        if not self.fields:
            raise ValueError("a form needs a field")
        if not is_needed(self.fields[0]):
            raise ValueError(f"the first field of the form {self.template} has to be there")
        for path in _paths(self.fields):
            labels = [field.label.casefold() for field in path]
            if len(set(labels)) != len(labels):
                raise ValueError(f"the form {self.template} has a label twice: {', '.join(labels)}")
        for label in (*(field.label for path in _paths(self.fields) for field in path), *self.stop):
            if not label or ":" in label or sanitize_line(label) != label:
                raise ValueError(f"the form {self.template} has a label that is no plain word: {label!r}")

    @property
    def worked(self) -> tuple[tuple[Message, ...], ...]:
        """The turns of each worked example."""
        return tuple(map(turns, self.examples))

    @property
    def stop_texts(self) -> tuple[str, ...]:
        return tuple(f"\n{label}:" for label in self.stop)

    @property
    def most_tokens(self) -> int:
        """Tokens that the filled form may take."""
        return lines_tokens(self.fields)

    @property
    def grammar(self) -> Grammar:
        """Exactly the outputs that :meth:`parse` reads as they stand; the schema says the same as a JSON object."""
        rules = {"root": ""}
        rules["root"] = lines_rule(rules, "field", self.fields)
        properties = {field.label: field.schema for path in _paths(self.fields) for field in path}
        schema = {
            "type": "object",
            "properties": properties,
            "required": [field.label for field in self.fields if is_needed(field)],
            "additionalProperties": False,
        }
        return Grammar("\n".join(f"{name} ::= {body}" for name, body in rules.items()), schema)

    def parse(self, output: str) -> Parsed:
        """The fields of an output, also of one that was written without the grammar."""
        return parse(self.fields, output)

    def written(self, texts: Mapping[str, str]) -> str:
        """The output for these texts, as a worked example has it; :meth:`parse` reads it."""
        lines = []
        left = list(self.fields)
        while left:
            field = left.pop(0)
            if field.label not in texts and not is_needed(field):
                continue
            lines.append(f"{field.label}: {texts[field.label]}")
            if isinstance(field, Branch):
                left += field.options[texts[field.label]]
        return "\n".join(lines)


def _paths(fields: tuple[Field, ...]) -> Iterator[tuple[Field, ...]]:
    """The fields in order, for each choice of the branches."""
    *before, last = fields
    if any(isinstance(field, Branch) for field in before):
        raise ValueError("a branch is the last field")
    if not isinstance(last, Branch):
        yield fields
        return
    for more in last.options.values():
        for path in _paths(more) if more else [()]:
            yield (*fields, *path)


def worked_examples(package: str, name: str) -> tuple[str, ...]:
    """The worked examples of the file `prompts/<name>.txt` of a package.

    Each begins with a line `--- example`; in a file without such lines, with a line `--- user`.
    """
    text = files(package).joinpath("prompts", f"{name}.txt").read_text(encoding="utf-8")
    _, *examples = f"\n{text}".split("\n--- example\n")
    if not examples:
        _, *turns_of = f"\n{text}".split("\n--- user\n")
        examples = [f"--- user\n{turns}" for turns in turns_of]
    return tuple(examples)
