"""Trace files from elsewhere: `atomr.trace/1`, checked field by field before anything of it is used.

What another program wrote is untrusted. Its form is checked here; its texts are kept as they are and sanitised wherever
they are shown. What the trace class gives a default may be missing, and keys it does not know are passed over, so that
versions that differ a little can read each other.
"""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, TypeVar, get_args

from atomr_local.errors import InputError
from atomr_local.input_files import open_regular
from atomr_local.reasoning.trace.schema import (
    SCHEMA,
    Basis,
    Departure,
    EvidenceTrace,
    Guess,
    LlmUse,
    Method,
    NodeTrace,
    Outcome,
    PlanOrigin,
    PlanTrace,
    Status,
    Totals,
    Trace,
)
from atomr_local.tree.answer_types import AnswerType
from atomr_local.tree.operations import Operation

LARGEST_FILE = 256 << 20
LARGEST_TRACE = 64 << 20
_LONGEST_TEXT = 1_000_000
_MOST_NODES = 2_000
_MOST_EVIDENCE = 50_000
_MOST_ITEMS = 50_000
_MOST_SIGNALS = 100
_DEEPEST_TREE = 100
_DEEPEST_VALUE = 8
_LARGEST = sys.float_info.max
_KINDS = ("root", "parent", "search", "relate", "filter", "direct", "operation")
_SOURCES = ("text", "graph", "web")
_ENTITY = re.compile(r"[a-zA-Z][a-zA-Z0-9+.-]{0,20}:[^\s<>\"{}|\\^`]{1,500}")
_EVIDENCE_ID = re.compile(r"e[0-9]{1,9}")
_LOCATOR_TEXTS = ("sparql", "url", "retrieved_at")
_ABSENT: Any = object()
_Item = TypeVar("_Item")


def read_shared(path: Path) -> list[Trace]:
    """The traces of a file: one JSON object, or JSON lines of them.

    Raises:
        InputError: naming the file, the line and the field of what is wrong; nothing of the file is to be used then.
    """
    try:
        with open_regular(path) as stream:
            data = stream.read(LARGEST_FILE + 1)
    except OSError as error:
        raise InputError(f"{path} cannot be read: {error.strerror or error}") from error
    if len(data) > LARGEST_FILE:
        raise InputError(f"{path} is larger than {LARGEST_FILE >> 20} MiB", hint="Export fewer questions at a time.")
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise InputError(f"{path} is not UTF-8 text: {error}") from error
    try:
        documents = list(_documents(text, path))
    except RecursionError as error:
        raise InputError(f"{path} is too deeply nested") from error
    if not documents:
        raise InputError(f"{path} holds no trace", hint="Such a file is made by `atomr history export --format json`.")
    traces = []
    for place, document in documents:
        try:
            traces.append(parse_trace(document))
        except InputError as error:
            raise InputError(
                f"{place}: {error.message}", hint=error.hint or "The file is no trace of atomr-local, or was changed."
            ) from error
    return traces


def _documents(text: str, path: Path) -> Iterator[tuple[str, Any]]:
    try:
        yield str(path), json.loads(text, parse_constant=_no_number)
        return
    except ValueError as error:
        if "\n" not in text.strip():
            raise InputError(f"{path} is not valid JSON: {error}") from error
        whole = error
    several = False
    for number, line in enumerate(text.split("\n"), 1):
        if not line.strip():
            continue
        try:
            document = json.loads(line, parse_constant=_no_number)
        except ValueError as error:
            # A broken object on many lines is better told by what is wrong with it as a whole.
            raise InputError(f"{path}:{number}: {error}" if several else f"{path}: {whole}") from error
        several = True
        yield f"{path}:{number}", document


def _no_number(name: str) -> Any:
    raise ValueError(f"{name} is no number in JSON")


def parse_trace(data: Any) -> Trace:
    """The trace that the JSON value describes.

    Raises:
        InputError: naming the field that is missing or is not what it should be.
    """
    fields = _Fields(data, "")
    schema = fields.text("schema")
    if schema != SCHEMA:
        newer = schema.startswith("atomr.trace/")
        raise InputError(
            f"schema: {schema[:40]!r}, not {SCHEMA!r}", hint="Update atomr-local to open it." if newer else ""
        )
    trace = Trace(
        question=fields.text("question"),
        strategy=fields.text("strategy"),
        settings=fields.mapping("settings"),
        status=fields.one_of("status", get_args(Status)),
        answer=fields.text("answer"),
        answers=fields.texts("answers"),
        confidence=fields.share("confidence"),
        basis=fields.one_of("basis", get_args(Basis), "evidence"),
        plan=_plan(fields.inner("plan")),
        nodes=fields.items("nodes", _node, _MOST_NODES),
        evidence=fields.items("evidence", _evidence, _MOST_EVIDENCE),
        totals=_totals(fields.inner("totals")),
        warnings=fields.texts("warnings"),
        left_machine=fields.items("left_machine", _departure, _MOST_ITEMS),
        reason=fields.text("reason", ""),
        advice=fields.texts("advice"),
        guess=_guess(fields),
        understood_as=fields.text("understood_as", ""),
        expects=_expects(fields),
        id=fields.text("id", ""),
        conversation=fields.text("conversation", ""),
        took_from=fields.texts("took_from"),
    )
    _check_tree(trace.nodes)
    _check_evidence(trace)
    return trace


def _plan(fields: _Fields) -> PlanTrace:
    return PlanTrace(
        fields.text("compact", ""),
        fields.one_of("origin", get_args(PlanOrigin), "model"),
        fields.count("attempts"),
        fields.texts("problems"),
    )


def _node(fields: _Fields) -> NodeTrace:
    return NodeTrace(
        id=fields.count("id", _ABSENT),
        parent=fields.count("parent", None),
        question=fields.text("question"),
        kind=fields.one_of("kind", _KINDS),
        resolved_question=fields.text("resolved_question", ""),
        arguments=fields.list_of("arguments", _plain),
        refs=fields.list_of("refs", _whole),
        sources=fields.texts("sources", _SOURCES),
        answer=fields.text("answer", ""),
        answers=fields.texts("answers"),
        method=fields.one_of("method", (*get_args(Method), None), None),
        confidence=fields.share("confidence"),
        evidence=fields.list_of("evidence", _evidence_id),
        cited=fields.list_of("cited", _evidence_id),
        supported=fields.one_of("supported", (True, False, None), None),
        computation=fields.text("computation", None),
        dropped=fields.texts("dropped"),
        error=_error(fields),
        seconds=fields.number("seconds"),
        llm=_use(fields.inner("llm")),
        outcome=fields.one_of("outcome", (*get_args(Outcome), None), None),
        reason=fields.text("reason", ""),
        signals=_signals(fields.inner("signals")),
        operation=fields.one_of("operation", (*map(str, Operation), None), None),
        operands=fields.list_of("operands", _plain),
        words=fields.texts("words"),
        linked=fields.texts("linked"),
        near=fields.texts("near"),
        of=fields.list_of("of", _names),
        scores=fields.list_of("scores", _share),
        entities=fields.list_of("entities", _entity),
    )


def _guess(fields: _Fields) -> Guess | None:
    if fields.value("guess", None) is None:
        return None
    guess = fields.inner("guess")
    return Guess(guess.texts("answers"), guess.share("confidence"), guess.one_of("basis", get_args(Basis), "evidence"))


def _signals(fields: _Fields) -> dict[str, float]:
    if len(fields.data) > _MOST_SIGNALS:
        raise InputError(f"{fields.place.rstrip('.')}: {len(fields.data)} items, more than {_MOST_SIGNALS}")
    return {_text(name, fields.place): fields.number(name) for name in fields.data}


def _expects(fields: _Fields) -> dict[str, Any] | None:
    if fields.value("expects", None) is None:
        return None
    expects = fields.inner("expects")
    several = expects.one_of("several", (True, False), False)
    return {"type": expects.one_of("type", tuple(map(str, AnswerType))), "several": several}


def _error(fields: _Fields) -> dict[str, str] | None:
    if fields.value("error", None) is None:
        return None
    error = fields.inner("error")
    return {"title": error.text("title", ""), "message": error.text("message")}


def _use(fields: _Fields) -> LlmUse:
    return LlmUse(
        *(fields.count(key) for key in ("calls", "prompt_tokens", "evaluated_tokens", "generated_tokens")),
    )


def _totals(fields: _Fields) -> Totals:
    retrievals = fields.inner("retrievals")
    return Totals(
        seconds=fields.number("seconds"),
        llm_calls=fields.count("llm_calls"),
        prompt_tokens=fields.count("prompt_tokens"),
        evaluated_tokens=fields.count("evaluated_tokens"),
        generated_tokens=fields.count("generated_tokens"),
        retrievals={source: retrievals.count(source) for source in _SOURCES},
    )


def _evidence(fields: _Fields) -> EvidenceTrace:
    return EvidenceTrace(
        id=_evidence_id(fields.text("id"), f"{fields.place}id"),
        source=fields.one_of("source", _SOURCES),
        title=fields.text("title"),
        text=fields.text("text"),
        score=fields.number("score"),
        query=fields.text("query", ""),
        locator=_locator(fields.inner("locator")),
    )


def _departure(fields: _Fields) -> Departure:
    return Departure(
        what=fields.text("what"), to=fields.text("to"), when=fields.text("when", ""), query=fields.text("query", None)
    )


def _locator(fields: _Fields) -> dict[str, Any]:
    for key in _LOCATOR_TEXTS:
        fields.text(key, "")
    passage = fields.value("passage", "")
    if not isinstance(passage, str | int):
        raise fields.error("passage", "not a text or number")
    rows = fields.value("rows", [])
    if not isinstance(rows, list) or not all(isinstance(row, dict) for row in rows):
        raise fields.error("rows", "not a list of objects")
    return {key: _plain(value, f"{fields.place}{key}") for key, value in fields.data.items()}


def _check_tree(nodes: Sequence[NodeTrace]) -> None:
    """One root, every parent there, no round, no deeper than what is drawn."""
    parents = {node.id: node.parent for node in nodes}
    if len(parents) < len(nodes):
        raise InputError("nodes: two have the same id")
    if nodes and sum(parent is None for parent in parents.values()) != 1:
        raise InputError("nodes: not exactly one has no parent")
    for node in nodes:
        at, depth = node.parent, 0
        while at is not None:
            depth += 1
            if at not in parents:
                raise InputError(f"nodes: {node.id} hangs below {at}, which is not there")
            if depth > _DEEPEST_TREE:
                raise InputError(f"nodes: {node.id} is deeper than {_DEEPEST_TREE} levels, or hangs below itself")
            at = parents[at]


def _check_evidence(trace: Trace) -> None:
    known = {item.id for item in trace.evidence}
    if len(known) < len(trace.evidence):
        raise InputError("evidence: two pieces have the same id")
    for node in trace.nodes:
        for named in (*node.evidence, *node.cited):
            if named not in known:
                raise InputError(f"nodes: {node.id} names evidence {named}, which is not there")


class _Fields:
    """A JSON object whose fields are taken out by type; `place` is the path to it, with a dot behind it."""

    def __init__(self, data: Any, place: str) -> None:
        self.place = place
        if not isinstance(data, dict):
            raise InputError(f"{place.rstrip('.') or 'the trace'}: not an object")
        self.data: dict[str, Any] = data

    def error(self, key: str, problem: str) -> InputError:
        return InputError(f"{self.place}{key}: {problem}")

    def value(self, key: str, default: Any = _ABSENT) -> Any:
        found = self.data.get(key, default)
        if found is _ABSENT:
            raise self.error(key, "missing")
        return found

    def text(self, key: str, default: Any = _ABSENT) -> Any:
        found = self.value(key, default)
        return found if found is default else _text(found, f"{self.place}{key}")

    def texts(self, key: str, allowed: Sequence[str] = ()) -> list[str]:
        found = self.list_of(key, _text)
        if allowed and (odd := [item for item in found if item not in allowed]):
            raise self.error(key, f"{odd[0][:40]!r} is none of {', '.join(allowed)}")
        return found

    def one_of(self, key: str, allowed: Sequence[Any], default: Any = _ABSENT) -> Any:
        found = self.value(key, default)
        if not any(found is item or (isinstance(found, str) and found == item) for item in allowed):
            raise self.error(key, f"{str(found)[:40]!r} is none of {', '.join(map(str, allowed))}")
        return found

    def number(self, key: str) -> float:
        # null stands where a number was not finite
        found = self.value(key, 0.0)
        return 0.0 if found is None else _number(found, f"{self.place}{key}")

    def share(self, key: str) -> float | None:
        found = self.value(key, None)
        if found is not None and not 0 <= _number(found, f"{self.place}{key}") <= 1:
            raise self.error(key, "not between 0 and 1")
        return found  # type: ignore[no-any-return]

    def count(self, key: str, default: Any = 0) -> Any:
        found = self.value(key, default)
        return found if found is default else _whole(found, f"{self.place}{key}")

    def inner(self, key: str) -> _Fields:
        return _Fields(self.value(key, {}), f"{self.place}{key}.")

    def mapping(self, key: str) -> dict[str, Any]:
        inner = self.inner(key)
        return {name: _plain(value, f"{inner.place}{name}") for name, value in inner.data.items()}

    def items(self, key: str, read: Callable[[_Fields], _Item], most: int) -> list[_Item]:
        return [read(_Fields(item, f"{self.place}{key}[{i}].")) for i, item in enumerate(self._list(key, most))]

    def list_of(self, key: str, read: Callable[[Any, str], _Item]) -> list[_Item]:
        return [read(item, f"{self.place}{key}[{i}]") for i, item in enumerate(self._list(key, _MOST_ITEMS))]

    def _list(self, key: str, most: int) -> list[Any]:
        found = self.value(key, [])
        if not isinstance(found, list):
            raise self.error(key, "not a list")
        if len(found) > most:
            raise self.error(key, f"{len(found)} items, more than {most}")
        return found


def _text(value: Any, place: str) -> str:
    if not isinstance(value, str):
        raise InputError(f"{place}: not a text")
    if len(value) > _LONGEST_TEXT:
        raise InputError(f"{place}: {len(value)} characters, more than {_LONGEST_TEXT}")
    return value


def _number(value: Any, place: str) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float) or not -_LARGEST <= value <= _LARGEST:
        raise InputError(f"{place}: not a number, or too large a one")
    return value


def _whole(value: Any, place: str) -> int:
    if isinstance(value, bool) or not isinstance(value, int) or not 0 <= value < 1 << 53:
        raise InputError(f"{place}: not a whole number from 0 on")
    return value


def _evidence_id(value: Any, place: str) -> str:
    if not isinstance(value, str) or not _EVIDENCE_ID.fullmatch(value):
        raise InputError(f"{place}: not the id of a piece of evidence, such as e1")
    return value


def _names(value: Any, place: str) -> list[str]:
    if not isinstance(value, list) or len(value) > _MOST_ITEMS:
        raise InputError(f"{place}: not a list of texts, or too long")
    return [_text(item, f"{place}[{i}]") for i, item in enumerate(value)]


def _share(value: Any, place: str) -> float:
    if not 0 <= _number(value, place) <= 1:
        raise InputError(f"{place}: not between 0 and 1")
    return float(value)


def _entity(value: Any, place: str) -> str | None:
    if value is None:
        return None
    if not isinstance(value, str) or not _ENTITY.fullmatch(value):
        raise InputError(f"{place}: not the address of a graph entity")
    return value


def _plain(value: Any, place: str, depth: int = 0) -> Any:
    """A JSON value of any kind, not too deep and of bounded texts; numbers finite."""
    if depth > _DEEPEST_VALUE:
        raise InputError(f"{place}: too deeply nested")
    if isinstance(value, str):
        return _text(value, place)
    if isinstance(value, Mapping):
        return {_text(key, place): _plain(item, f"{place}.{key[:40]}", depth + 1) for key, item in value.items()}
    if isinstance(value, list):
        return [_plain(item, f"{place}[{i}]", depth + 1) for i, item in enumerate(value)]
    if value is None or isinstance(value, bool):
        return value
    return _number(value, place)
