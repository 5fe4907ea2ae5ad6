from __future__ import annotations

import pytest

from atomr_local.models.protocol import Choice, GenerationRequest, Grammar, JsonSchema, Prompt
from atomr_local.reasoning.reading.answer_formats import FORMATS


def test_a_choice_is_a_grammar_of_its_options() -> None:
    assert Choice(("text", 'a "b"')).gbnf == 'root ::= "text" | "a \\"b\\""'
    assert Choice(("yes", "no")).json_schema is None


def test_a_grammar_is_passed_on_as_it_is() -> None:
    assert Grammar("root ::= [a-z]").gbnf == "root ::= [a-z]"


def test_a_json_schema_becomes_a_grammar_for_llama_cpp() -> None:
    pytest.importorskip("llama_cpp")
    schema = {"type": "object", "properties": {"name": {"type": "string"}}, "required": ["name"]}
    assert "root ::= " in JsonSchema(schema).gbnf


def test_the_schema_of_an_answer_describes_what_the_format_writes() -> None:
    schema = FORMATS["full"].json_schema
    assert schema is not None
    for key in ("answer", "answers", "evidence"):
        assert f'"{key}"' in FORMATS["full"].written(["Lima"], [1])
        assert key in schema["required"]
    assert FORMATS["lean"].json_schema is None


def test_a_request_for_no_tokens_is_refused() -> None:
    with pytest.raises(ValueError, match="max_tokens"):
        GenerationRequest(Prompt((), ()), max_tokens=0)
