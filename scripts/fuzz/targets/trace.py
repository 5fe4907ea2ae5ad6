"""Trace files from elsewhere: refused, or fit to be kept, found, shown, exported and run again."""

from __future__ import annotations

import json
from collections.abc import Iterator

from atomr_local.assistant.history.export import to_json, to_markdown, unkept
from atomr_local.assistant.history.store import History
from atomr_local.assistant.history.trace_import import parse_trace, read_traces
from atomr_local.cli.asking import answer_text
from atomr_local.errors import AtomrError, InputError
from atomr_local.reasoning.trace.schema import SCHEMA, Trace
from atomr_local.system.sanitize import sanitize
from atomr_local.tui.question.correction import replay
from fuzz.graph import fresh_directory
from fuzz.properties import Broken, as_file, expect, repeated

INSTRUMENTED = ("atomr_local.assistant.history", "atomr_local.reasoning.trace.schema")
DICTIONARY = (
    b'"schema": "atomr.trace/1"', b'"question": "', b'"strategy": "', b'"status": "answered"', b'"answers": ["',
    b'"confidence": 0.5', b'"basis": "model"', b'"plan": {"compact": "', b'"origin": "user"', b'"nodes": [{',
    b'"id": 0', b'"parent": null', b'"parent": 0', b'"kind": "root"', b'"evidence": ["e1"]',
    b'"evidence": [{"id": "e1"', b'"source": "text"', b'"title": "', b'"text": "', b'"score": 1',
    b'"locator": {"passage": 1, "span": [0, 4]}', b'"rows": [{', b'"sparql": "', b'"url": "http://x"',
    b'"error": {"title": "a", "message": "b"}', b'"settings": {', b'"totals": {', b'"retrievals": {',
    b'"method": "symbolic"', b'"computation": "', b'"supported": true', b'"warnings": ["', b'"seconds": ', b"1e999",
    b"NaN", b"Infinity", b"\\ud800", b"\\u0000", b"\\u001b[31m", b"null", b"true", b"-1", b"9" * 40, b"```", b"|",
    b"\xef\xbb\xbf", b"\n", b"[", b"]", b"{", b"}", b"http://", b"www.x", b"\\n- ",
)  # fmt: skip


def _trace(**changes: object) -> bytes:
    node = {
        "id": 0, "parent": None, "question": "Who?", "kind": "root", "answer": "Ann", "answers": ["Ann"], "method": "child", "confidence": 0.9, "evidence": ["e1"],
        "cited": ["e1"], "supported": True, "sources": ["text"], "refs": [1], "arguments": ["a"], "dropped": ["3 values"], "computation": None,
        "error": None, "seconds": 0.5, "llm": {"calls": 1, "prompt_tokens": 10, "evaluated_tokens": 5, "generated_tokens": 2},
    }  # fmt: skip
    leaf = node | {
        "id": 1,
        "parent": 0,
        "kind": "search",
        "method": "symbolic",
        "computation": "1 > 0",
        "error": {"title": "a", "message": "b"},
    }
    evidence = {
        "id": "e1",
        "source": "text",
        "title": "Ann",
        "text": "Ann did.",
        "score": 1.5,
        "query": "who",
        "locator": {"passage": 3, "span": [0, 4]},
    }
    other = evidence | {"id": "e2", "source": "graph", "locator": {"sparql": "SELECT * {}", "rows": [{"a": 1}]}}
    web = evidence | {"id": "e3", "source": "web", "locator": {"url": "http://x", "retrieved_at": "2026-01-01"}}
    trace = {
        "schema": SCHEMA, "question": "Who?", "strategy": "atomr", "status": "answered", "answer": "Ann.", "answers": ["Ann"], "confidence": 0.9,
        "basis": "evidence", "settings": {"model": "m", "sources": ["text"], "web": False}, "nodes": [node, leaf],
        "plan": {"compact": "1. a = Search(\"b\")", "origin": "model", "attempts": 1, "problems": []}, "evidence": [evidence, other, web], "warnings": ["w"],
        "totals": {"seconds": 1.0, "llm_calls": 2, "prompt_tokens": 3, "evaluated_tokens": 4, "generated_tokens": 5, "retrievals": {"text": 1}},
    }  # fmt: skip
    return json.dumps(trace | changes).encode()


def seeds() -> Iterator[bytes]:
    yield _trace()
    yield _trace(nodes=[], evidence=[], status="unknown", answers=[], confidence=None) + b"\n" + _trace(question="b")
    for key in (b'"score": ', b'"seconds": ', b'"model": ', b'"rows": ', b'"confidence": '):
        place = _trace().index(key) + len(key)
        yield _trace()[:place] + b"1" + b"0" * 400 + b', "x": ' + _trace()[place:]
    yield _trace(settings={"a": [[[[[[[[[[1]]]]]]]]]]})
    yield repeated(b"[", 20_000, head=b'{"schema": ')


def check(data: bytes) -> None:
    path = as_file(data, "traces.json")
    try:
        traces = read_traces(path)
    except InputError as error:
        expect(str(path) in error.message, "the file is named", error.message[:300])
        return
    for trace in traces[:3]:
        _can_be_used(trace)
    with fresh_directory() as directory, History(directory / "history.sqlite") as history:
        for trace in traces[:3]:
            try:
                number, new = history.import_trace(trace)
                kept = history.get(number)
                again = history.import_trace(trace)
            except AtomrError as error:
                raise Broken(f"what is read can be kept: {error.message}") from error
            expect(again == (number, False), "it is kept once", (number, new, again))
            expect(kept.trace.to_dict() == trace.to_dict(), "it is kept as it is", number)
        expect(not traces or 1 <= len(history.entries()) <= 3, "they are listed")


def _can_be_used(trace: Trace) -> None:
    state = replay(trace)
    expect(state.record.question == trace.question, "it can be shown again")
    shown = answer_text(trace)
    expect(sanitize(shown) == shown, "what is printed is clean", shown[:300])
    kept = unkept(trace)
    markdown, document = to_markdown([kept]), to_json([kept], several=False)
    expect(sanitize(markdown) == markdown, "Markdown is clean", markdown[:300])
    markdown.encode("utf-8")
    again = parse_trace(json.loads(document))
    expect(again.to_dict() == trace.to_dict(), "exported and read again it is the same", document[:300])
