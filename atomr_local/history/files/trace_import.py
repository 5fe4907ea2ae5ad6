"""Imports trace files (`atomr.trace/1`): one JSON object, or JSON lines. Every field is checked before use.

What another program wrote is untrusted. Its form is checked here; its texts are kept as they are and sanitised wherever
they are shown. What the trace class gives a default may be missing, keys it does not know are skipped, and names of
kinds and methods that it does not know are kept as text, so that versions that differ a little can read each other.
"""

from __future__ import annotations

import dataclasses
import json
import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, get_args

from atomr_local.errors import InputError
from atomr_local.file_kinds import kind_of
from atomr_local.history.files.json_fields import (
    ABSENT,
    MOST_ITEMS,
    JsonFields,
    fraction,
    json_value,
    text_list,
    text_value,
    whole_number,
)
from atomr_local.input_files import open_regular
from atomr_local.plugins import NAME
from atomr_local.reasoning.trace.schema import (
    SCHEMA,
    Basis,
    Departure,
    EvidenceTrace,
    Guess,
    LlmUse,
    NodeTrace,
    Outcome,
    PlanOrigin,
    PlanTrace,
    Status,
    Totals,
    Trace,
)
from atomr_local.tree.answer_types import AnswerType
from atomr_local.tree.nodes import ROOT_ID
from atomr_local.tree.operations import Operation

LARGEST_FILE = 256 << 20
_MOST_NODES = 2_000
_MOST_EVIDENCE = 50_000
_MOST_SIGNALS = 100
_MOST_CANDIDATES = 1_000
_DEEPEST_TREE = 100
_LONGEST_NAME = 60  # characters of the name of a kind or method
_SOURCES = ("text", "graph", "web")  # counted in every trace; sources of other packages have other names
_ENTITY = re.compile(r"[a-zA-Z][a-zA-Z0-9+.-]{0,20}:[^\s<>\"{}|\\^`]{1,500}")
_EVIDENCE_ID = re.compile(r"e[0-9]{1,9}")
_LOCATOR_TEXTS = ("sparql", "url", "retrieved_at")


def read_traces(path: Path) -> list[Trace]:
    """The traces of a file: one JSON object, or JSON lines of them.

    Raises:
        InputError: naming the file, the line and the field of what is wrong; nothing of the file is to be used then.
    """
    try:
        with open_regular(path) as stream:
            data = stream.read(LARGEST_FILE + 1)
    except OSError as error:
        raise InputError(
            f"{path} cannot be read: {error.strerror or error}",
            hint="Name a file that `atomr history export --format json` has written.",
        ) from error
    if len(data) > LARGEST_FILE:
        raise InputError(f"{path} is larger than {LARGEST_FILE >> 20} MiB", hint="Export fewer questions at a time.")
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        if kind := kind_of(data):
            raise InputError(f"{path}: {kind.name}, no trace", hint=kind.advice) from error
        raise InputError(f"{path} is not UTF-8 text: {error}") from error
    try:
        documents = list(_documents(text, path))
    except RecursionError as error:
        raise InputError(f"{path} is too deeply nested") from error
    if not documents:
        raise InputError(
            f"{path} contains no trace", hint="Such a file is made by `atomr history export --format json`."
        )
    traces = []
    for place, document in documents:
        try:
            traces.append(parse_trace(document))
        except InputError as error:
            raise InputError(
                f"{place}: {error.message}",
                hint=error.hint or "The file is not a trace of atomr-local, or it was changed.",
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
    raise ValueError(f"{name} is not a number in JSON")


def parse_trace(data: Any) -> Trace:
    """The trace that the JSON value describes.

    Raises:
        InputError: naming the field that is missing or is not what it should be.
    """
    fields = JsonFields(data, "")
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
        left_machine=fields.items("left_machine", _departure, MOST_ITEMS),
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


def _plan(fields: JsonFields) -> PlanTrace:
    return PlanTrace(
        fields.text("compact", ""),
        fields.one_of("origin", get_args(PlanOrigin), "model"),
        fields.count("attempts"),
        fields.texts("problems"),
    )


def _node(fields: JsonFields) -> NodeTrace:
    return NodeTrace(
        id=fields.count("id", ABSENT),
        parent=fields.count("parent", None),
        question=fields.text("question"),
        kind=_name(fields, "kind"),
        resolved_question=fields.text("resolved_question", ""),
        arguments=fields.list_of("arguments", json_value),
        refs=fields.list_of("refs", whole_number),
        sources=fields.list_of("sources", _source),
        answer=fields.text("answer", ""),
        answers=fields.texts("answers"),
        method=_name(fields, "method", None),
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
        operands=fields.list_of("operands", json_value),
        words=fields.texts("words"),
        linked=fields.texts("linked"),
        near=fields.texts("near"),
        of=fields.list_of("of", text_list),
        scores=fields.list_of("scores", fraction),
        entities=fields.list_of("entities", _entity),
        label=fields.text("label", ""),
        plan_confidence=fields.share("plan_confidence"),
        thought=fields.text("thought", ""),
        action=_action(fields),
        observation=fields.text("observation", ""),
        candidates=fields.items("candidates", _candidate, _MOST_CANDIDATES),
        corrected_from=fields.text("corrected_from", None),
    )


def _name(fields: JsonFields, key: str, default: Any = ABSENT) -> Any:
    """The name of a kind or method, also of one that another version has."""
    found = fields.text(key, default)
    if found is not None and len(found) > _LONGEST_NAME:
        raise fields.error(key, f"{len(found)} characters, more than {_LONGEST_NAME}")
    return found


def _action(fields: JsonFields) -> dict[str, str] | None:
    if fields.value("action", None) is None:
        return None
    action = fields.inner("action")
    return {"name": action.text("name"), "input": action.text("input", "")}


def _candidate(fields: JsonFields) -> dict[str, Any]:
    known = fields.value("score", None) is not None
    return {
        "answer": fields.text("answer"),
        "score": fields.number("score") if known else None,
        "origin": fields.text("origin", ""),
        "evidence": fields.list_of("evidence", _evidence_id),
    }


def _guess(fields: JsonFields) -> Guess | None:
    if fields.value("guess", None) is None:
        return None
    guess = fields.inner("guess")
    return Guess(guess.texts("answers"), guess.share("confidence"), guess.one_of("basis", get_args(Basis), "evidence"))


def _signals(fields: JsonFields) -> dict[str, float]:
    if len(fields.data) > _MOST_SIGNALS:
        raise InputError(f"{fields.place.rstrip('.')}: {len(fields.data)} items, more than {_MOST_SIGNALS}")
    return {text_value(name, fields.place): fields.number(name) for name in fields.data}


def _expects(fields: JsonFields) -> dict[str, Any] | None:
    if fields.value("expects", None) is None:
        return None
    expects = fields.inner("expects")
    several = expects.one_of("several", (True, False), False)
    return {"type": expects.one_of("type", tuple(map(str, AnswerType))), "several": several}


def _error(fields: JsonFields) -> dict[str, str] | None:
    if fields.value("error", None) is None:
        return None
    error = fields.inner("error")
    return {"title": error.text("title", ""), "message": error.text("message")}


def _use(fields: JsonFields) -> LlmUse:
    return LlmUse(*(fields.count(part.name) for part in dataclasses.fields(LlmUse)))


def _totals(fields: JsonFields) -> Totals:
    retrievals = fields.inner("retrievals")
    sources = dict.fromkeys((*_SOURCES, *(_source(name, retrievals.place.rstrip(".")) for name in retrievals.data)))
    return Totals(
        seconds=fields.number("seconds"),
        llm_calls=fields.count("llm_calls"),
        prompt_tokens=fields.count("prompt_tokens"),
        evaluated_tokens=fields.count("evaluated_tokens"),
        generated_tokens=fields.count("generated_tokens"),
        retrievals={source: retrievals.count(source) for source in sources},
    )


def _evidence(fields: JsonFields) -> EvidenceTrace:
    return EvidenceTrace(
        id=_evidence_id(fields.text("id"), f"{fields.place}id"),
        source=_source(fields.text("source"), f"{fields.place}source"),
        title=fields.text("title"),
        text=fields.text("text"),
        score=fields.number("score"),
        query=fields.text("query", ""),
        locator=_locator(fields.inner("locator")),
    )


def _departure(fields: JsonFields) -> Departure:
    return Departure(
        what=fields.text("what"), to=fields.text("to"), when=fields.text("when", ""), query=fields.text("query", None)
    )


def _locator(fields: JsonFields) -> dict[str, Any]:
    for key in _LOCATOR_TEXTS:
        fields.text(key, "")
    passage = fields.value("passage", "")
    if not isinstance(passage, str | int):
        raise fields.error("passage", "not a text or number")
    rows = fields.value("rows", [])
    if not isinstance(rows, list) or not all(isinstance(row, dict) for row in rows):
        raise fields.error("rows", "not a list of objects")
    return {key: json_value(value, f"{fields.place}{key}") for key, value in fields.data.items()}


def _check_tree(nodes: Sequence[NodeTrace]) -> None:
    """One root, every parent there, no round, no deeper than what is drawn."""
    parents = {node.id: node.parent for node in nodes}
    if len(parents) < len(nodes):
        raise InputError("nodes: two have the same id")
    roots = [node.id for node in nodes if node.parent is None]
    if nodes and len(roots) != 1:
        raise InputError("nodes: not exactly one has no parent")
    if nodes and roots != [ROOT_ID]:
        raise InputError(f"nodes: the one without a parent is {roots[0]}, not {ROOT_ID}")
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
        weighed = (item for candidate in node.candidates for item in candidate["evidence"])
        for named in (*node.evidence, *node.cited, *weighed):
            if named not in known:
                raise InputError(f"nodes: {node.id} names evidence {named}, which is not there")


def _evidence_id(value: Any, place: str) -> str:
    if not isinstance(value, str) or not _EVIDENCE_ID.fullmatch(value):
        raise InputError(f"{place}: not the id of a piece of evidence, such as e1")
    return value


def _source(value: Any, place: str) -> str:
    if not isinstance(value, str) or not re.fullmatch(NAME, value):
        raise InputError(f"{place}: {str(value)[:40]!r} is not the name of a source")
    return value


def _entity(value: Any, place: str) -> str | None:
    if value is None:
        return None
    if not isinstance(value, str) or not _ENTITY.fullmatch(value):
        raise InputError(f"{place}: not the address of a graph entity")
    return value
