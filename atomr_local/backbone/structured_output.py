"""Structured output: a grammar, a choice or a JSON schema.

A backbone uses the form that its model or server understands: llama.cpp takes `gbnf`, a server without grammars may
take `json_schema`.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from atomr_local.backbone.gbnf import literal


@dataclass(frozen=True, slots=True)
class Grammar:
    """A text of a grammar.

    Attributes:
        gbnf: with a rule named `root`.
        json_schema: a schema that all texts of the grammar fulfil; or of an object that says the same, which whoever
            reads the text understands as well; None if there is neither.
    """

    gbnf: str
    json_schema: Mapping[str, Any] | None = None


@dataclass(frozen=True, slots=True)
class Choice:
    """Exactly one of the options."""

    options: tuple[str, ...]
    json_schema: None = None  # an option is plain text

    @property
    def gbnf(self) -> str:
        return "root ::= " + " | ".join(map(literal, self.options))


@dataclass(frozen=True, slots=True)
class JsonSchema:
    """A JSON text that fulfils a schema."""

    json_schema: Mapping[str, Any]

    @property
    def gbnf(self) -> str:
        """The schema as llama.cpp understands it. Imports llama_cpp."""
        from llama_cpp.llama_grammar import json_schema_to_gbnf

        return str(json_schema_to_gbnf(json.dumps(self.json_schema)))


StructuredOutput = Grammar | Choice | JsonSchema
