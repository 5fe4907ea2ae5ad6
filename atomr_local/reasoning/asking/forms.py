"""A form: a prompt template and labelled fields, which the model fills as `Label: text` lines."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from importlib.resources import files

from atomr_local.backbone.protocol import Message
from atomr_local.backbone.structured_output import Grammar
from atomr_local.backbone.templates import turns
from atomr_local.reasoning.asking.fields import (
    Branch,
    Field,
    Line,
    Number,
    OneOf,
    WordsOf,
    is_needed,
    lines_rule,
    lines_tokens,
)
from atomr_local.reasoning.asking.parsing import Parsed, parse
from atomr_local.sanitize import sanitize_line

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
