"""Trace files from elsewhere are checked field by field."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from pydantic import ValidationError
from support.grown_steps import grown_trace
from support.history_fakes import a_trace

from atomr_local.assistant.history import trace_import
from atomr_local.assistant.history.pending import encode
from atomr_local.assistant.history.trace_import import parse_trace, read_traces
from atomr_local.errors import InputError

Change = Callable[[dict[str, Any]], Any]
CANDIDATE = {"answer": "Mary", "score": -0.5, "origin": "text", "evidence": ["e1"]}


def document() -> dict[str, Any]:
    data: dict[str, Any] = json.loads(json.dumps(a_trace().to_dict()))
    return data


def test_a_trace_is_read_as_it_was_written() -> None:
    assert parse_trace(document()) == a_trace()


def test_what_has_a_default_may_be_missing_and_unknown_keys_are_passed_over() -> None:
    data = {key: document()[key] for key in ("schema", "question", "strategy", "status", "answer")}
    read = parse_trace(data | {"of_tomorrow": {"x": [1]}})
    assert (read.nodes, read.evidence, read.settings, read.totals.llm_calls) == ([], [], {}, 0)
    assert "of_tomorrow" not in read.to_dict()


def test_the_steps_of_a_method_without_a_plan_are_read_as_they_were_written() -> None:
    trace = grown_trace()
    assert trace.plan.origin == "steps"
    assert parse_trace(json.loads(encode(trace))) == trace


def test_kinds_and_methods_that_this_version_does_not_know_are_kept_as_text() -> None:
    data = document()
    data["nodes"][1].update(kind="oracle", method="dowsing", candidates=[{"answer": "Mary"}], action={"name": "ask"})
    node = parse_trace(data).nodes[1]
    assert (node.kind, node.method, node.action) == ("oracle", "dowsing", {"name": "ask", "input": ""})
    assert node.candidates == [{"answer": "Mary", "score": None, "origin": "", "evidence": []}]


def test_numbers_and_texts_are_kept_as_they_are() -> None:
    """A file that is read again is the same byte for byte, by which it is known; null was a number without a value."""
    data = document()
    data["answer"] = "lone \ud800"
    data["totals"].update(seconds=3, retrievals={"wiki": 2, "web": 1})
    data["evidence"][0]["score"] = None
    data["nodes"][1].update(signals={"steps": 2, "null": None}, scores=[1])
    read = parse_trace(data).to_dict()
    assert read["answer"] == "lone \ud800"
    assert json.dumps(read["totals"]["seconds"]) == "3"
    assert json.dumps(read["totals"]["retrievals"]) == '{"text": 0, "graph": 0, "web": 1, "wiki": 2}'
    assert json.dumps(read["evidence"][0]["score"]) == "0.0"
    assert json.dumps([read["nodes"][1]["signals"], read["nodes"][1]["scores"]]) == '[{"steps": 2, "null": 0.0}, [1.0]]'


def test_many_wrong_items_are_told_by_the_first() -> None:
    """A hostile file cannot make the program collect a problem for each of them."""
    data = document()
    data["nodes"] = [{"id": "x", "refs": ["x"] * 50_000, "dropped": [1] * 50_000} for _ in range(2000)]
    with pytest.raises(InputError, match=r"nodes\[0\]\.id: not a whole"):
        parse_trace(data)
    with pytest.raises(ValidationError) as caught:
        trace_import._READER.validate_python(data)
    assert caught.value.error_count() < 10


def nested(depth: int) -> Any:
    value: Any = 1
    for _ in range(depth):
        value = [value]
    return value


@pytest.mark.parametrize(
    ("change", "told"),
    [
        (lambda d: d.pop("schema"), "schema: missing"),
        (lambda d: d.update(schema="atomr.trace/2"), "schema: 'atomr.trace/2'"),
        (lambda d: d.pop("question"), "question: missing"),
        (lambda d: d.pop("status"), "status: missing"),
        (lambda d: d.pop("answer"), "answer: missing"),
        (lambda d: d.update(schema=7), "schema: '7', not"),
        (lambda d: d.update(question=7), "question: not a text"),
        (lambda d: d.update(answer="x" * 1_000_001), "answer: 1000001 characters"),
        (lambda d: d.update(status="done"), "status: 'done' is none of"),
        (lambda d: d.update(status=["answered"]), "status: "),
        (lambda d: d.update(confidence=1.5), "confidence: not between"),
        (lambda d: d.update(confidence=True), "confidence: not a number"),
        (lambda d: d.update(settings=[]), "settings: not an object"),
        (lambda d: d.update(settings={"a": nested(20)}), "too deeply nested"),
        (lambda d: d.update(settings={"\ud800": nested(20)}), "too deeply nested"),
        (lambda d: d.update(answers="x"), "answers: not a list"),
        (lambda d: d.update(warnings=[1]), r"warnings\[0\]: not a text"),
        (lambda d: d["plan"].update(origin="elsewhere"), "plan.origin: 'elsewhere'"),
        (lambda d: d["totals"].update(llm_calls=-1), "totals.llm_calls: not a whole number"),
        (lambda d: d["totals"].update(seconds="1"), "totals.seconds: not a number"),
        (lambda d: d["totals"].update(seconds=10**400), "totals.seconds: not a number, or too large"),
        (lambda d: d["settings"].update(model=-(10**400)), "settings.model: not a number, or too large"),
        (lambda d: d.update(confidence=10**400), "confidence: not a number, or too large"),
        (lambda d: d["totals"]["retrievals"].update(web=0.5), "totals.retrievals.web: not a whole"),
        (lambda d: d.update(nodes=[7]), r"nodes\[0\]: not an object"),
        (lambda d: d.update(nodes=d["nodes"][:1] * 2001), "nodes: 2001 items"),
        (lambda d: d["nodes"][1].update(kind=7), r"nodes\[1\].kind: not a text"),
        (lambda d: d["nodes"][1].update(kind=None), r"nodes\[1\].kind: not a text"),
        (lambda d: d["nodes"][1].update(kind="x" * 61), r"nodes\[1\].kind: 61 characters"),
        (lambda d: d["nodes"][1].update(method="x" * 61), r"nodes\[1\].method: 61 characters"),
        (lambda d: d["nodes"][1].update(method=["vote"]), r"nodes\[1\].method: not a text"),
        (lambda d: d["nodes"][1].update(label=7), r"nodes\[1\].label: not a text"),
        (lambda d: d["nodes"][1].update(thought=["x"]), r"nodes\[1\].thought: not a text"),
        (lambda d: d["nodes"][1].update(observation="x" * 1_000_001), r"nodes\[1\].observation: 1000001 char"),
        (lambda d: d["nodes"][1].update(corrected_from=7), r"nodes\[1\].corrected_from: not a text"),
        (lambda d: d["nodes"][1].update(quotes=[{"evidence": "e77", "span": [0, 1]}]), "names evidence e77"),
        (lambda d: d["nodes"][1].update(quotes=[{"evidence": "e1"}]), r"quotes\[0\].span: missing"),
        (lambda d: d["nodes"][1].update(quotes=[{"evidence": "e1", "span": [1]}]), r"span: not the first and the last"),
        (lambda d: d["nodes"][1].update(quotes=[{"evidence": "e1", "span": [2, 1]}]), "ends before it begins"),
        (lambda d: d["nodes"][1].update(quotes=[{"evidence": "e1", "span": [0, "1"]}]), r"span\[1\]: not a whole"),
        (lambda d: d.update(closest=[{"evidence": "e77", "spans": []}]), "closest: names evidence e77"),
        (lambda d: d.update(closest=[{"evidence": "e1", "spans": []}] * 4), "closest: 4 items"),
        (lambda d: d.update(closest=[{"evidence": "e1", "spans": [7]}]), r"closest\[0\].spans\[0\]: not a list"),
        (lambda d: d.update(answer_kind="poem"), "answer_kind: 'poem'"),
        (lambda d: d.update(advised=[{"kind": "web", "names": "x"}]), r"advised\[0\].names: not a list"),
        (lambda d: d["nodes"][1].update(action="search"), r"nodes\[1\].action: not an object"),
        (lambda d: d["nodes"][1].update(action={"input": "x"}), r"nodes\[1\].action.name: missing"),
        (lambda d: d["nodes"][1].update(action={"name": "x", "input": 1}), r"nodes\[1\].action.input: not a text"),
        (lambda d: d["nodes"][1].update(candidates=[7]), r"nodes\[1\].candidates\[0\]: not an object"),
        (lambda d: d["nodes"][1].update(candidates=[CANDIDATE] * 1001), r"nodes\[1\].candidates: 1001 items"),
        (lambda d: d["nodes"][1].update(candidates=[CANDIDATE | {"score": "1"}]), r"candidates\[0\].score: not a num"),
        (lambda d: d["nodes"][1].update(candidates=[CANDIDATE | {"evidence": ["e77"]}]), "names evidence e77"),
        (lambda d: d["nodes"][1].update(plan_confidence=2), r"nodes\[1\].plan_confidence: not between"),
        (lambda d: d["nodes"][1].update(id="1"), r"nodes\[1\].id: not a whole"),
        (lambda d: d["nodes"][1].update(id=0), "two have the same id"),
        (lambda d: d["nodes"][1].update(parent=9), "which is not there"),
        (lambda d: d["nodes"][1].update(parent=None), "not exactly one"),
        (lambda d: d["nodes"][0].update(parent=1), "not exactly one"),
        (lambda d: (d["nodes"][0].update(parent=1), d["nodes"][1].update(parent=None)), "without a parent is 1, not 0"),
        (lambda d: (d["nodes"][1].update(parent=2), d["nodes"][2].update(parent=1)), "below itself"),
        (lambda d: d["nodes"][1].update(sources=["the disk"]), r"nodes\[1\].sources\[0\]: 'the disk'"),
        (lambda d: d["nodes"][1].update(supported=1), r"nodes\[1\].supported"),
        (lambda d: d["nodes"][1].update(cited=["e1\n"]), r"nodes\[1\].cited\[0\]"),
        (lambda d: d["nodes"][1].update(cited=["e77"]), "names evidence e77"),
        (lambda d: d["nodes"][1].update(error={"title": "x"}), r"nodes\[1\].error.message: missing"),
        (lambda d: d["nodes"][1].update(computation=3), r"nodes\[1\].computation: not a text"),
        (lambda d: d["nodes"][1].update(llm=3), r"nodes\[1\].llm: not an object"),
        (lambda d: d["evidence"][0].update(id="\x1b[2J"), r"evidence\[0\].id"),
        (lambda d: d["evidence"][0].update(id="e2"), "two pieces have the same id"),
        (lambda d: d["evidence"][0].update(source="\x1b[2J"), r"evidence\[0\].source"),
        (lambda d: d["evidence"][0].update(score=float("inf")), r"evidence\[0\].score"),
        (lambda d: d["evidence"][1]["locator"].update(sparql=[]), r"evidence\[1\].locator.sparql: not a text"),
        (lambda d: d["evidence"][1]["locator"].update(rows=["x"]), r"evidence\[1\].locator.rows: not a list of obj"),
        (lambda d: d["evidence"][2]["locator"].update(url={"x": 1}), r"evidence\[2\].locator.url: not a text"),
        (lambda d: d["evidence"][0]["locator"].update(passage=[1]), r"evidence\[0\].locator.passage"),
    ],
)
def test_a_wrong_field_is_named(change: Change, told: str) -> None:
    data = document()
    change(data)
    with pytest.raises(InputError, match=told):
        parse_trace(data)


def test_a_tree_too_deep_to_be_drawn_is_refused() -> None:
    data = document()
    data["nodes"] = [{"id": i, "parent": i - 1 if i else None, "question": "?", "kind": "parent"} for i in range(150)]
    with pytest.raises(InputError, match="deeper than 100"):
        parse_trace(data)


def test_a_file_holds_one_trace_or_json_lines_of_them(tmp_path: Path) -> None:
    file = tmp_path / "traces.json"
    for text, count in (
        (json.dumps(document(), indent=2), 1),
        ("\ufeff" + json.dumps(document()), 1),
        (json.dumps(document()) + "\n", 1),
        ((json.dumps(document()) + "\n\n") * 3, 3),
    ):
        file.write_text(text, encoding="utf-8")
        assert read_traces(file) == [a_trace()] * count


@pytest.mark.parametrize(
    ("content", "told"),
    [
        (b"", "not valid JSON"),
        (b"\n\n", "not valid JSON"),
        (b"\xff\xfe", "UTF-16"),
        (b"[]", "not an object"),
        (b"{", "not valid JSON"),
        (b'{\n"schema": }', "Expecting value"),
        (b"[" * 200_000, "too deeply nested"),
        (b'{"schema": NaN}', "not valid JSON"),
        (json.dumps({"schema": "atomr.trace/1"}).encode(), "question: missing"),
        (json.dumps(a_trace().to_dict()).encode() + b"\n{}\n", "bad.json:2: schema: missing"),
        (json.dumps(a_trace().to_dict()).encode() + b"\n{\n", "bad.json:2"),
        (b'{"schema": "atomr.trace/1", "question": "' + b"9" * 10 + b'", "strategy": ' + b"9" * 5000 + b"}", "bad"),
    ],
)
def test_a_file_that_is_none_is_told(tmp_path: Path, content: bytes, told: str) -> None:
    file = tmp_path / "bad.json"
    file.write_bytes(content)
    with pytest.raises(InputError, match=told) as caught:
        read_traces(file)
    assert "bad.json" in caught.value.message


def test_a_missing_and_a_huge_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(InputError, match=r"none\.json cannot be read"):
        read_traces(tmp_path / "none.json")
    monkeypatch.setattr(trace_import, "LARGEST_FILE", 100)
    (tmp_path / "huge.json").write_text(json.dumps(document()), encoding="utf-8")
    with pytest.raises(InputError, match="larger than"):
        read_traces(tmp_path / "huge.json")
