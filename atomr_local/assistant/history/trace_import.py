"""Imports trace files (`atomr.trace/1`): one JSON object, or JSON lines. Every field is checked before use.

What another program wrote is untrusted. Its form is checked here; its texts are kept as they are and sanitised wherever
they are shown. What the trace class gives a default may be missing, keys it does not know are skipped, and names of
kinds and methods that it does not know are kept as text, so that versions that differ a little can read each other.
"""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import fields, is_dataclass
from pathlib import Path
from types import NoneType
from typing import Annotated, Any, Literal, get_args, get_origin, get_type_hints

from pydantic import AfterValidator, BeforeValidator, FailFast, GetPydanticSchema, TypeAdapter, ValidationError
from pydantic_core import PydanticCustomError, core_schema

from atomr_local.errors import InputError
from atomr_local.reasoning.trace.schema import SCHEMA, Departure, EvidenceTrace, NodeTrace, Totals, Trace
from atomr_local.system.files import kind_of, open_regular
from atomr_local.system.plugins import NAME
from atomr_local.tree.calls import AnswerType
from atomr_local.tree.nodes import ROOT_ID
from atomr_local.tree.operations import Operation

LARGEST_FILE = 256 << 20
_LONGEST_TEXT = 1_000_000
_MOST_ITEMS = 50_000
_DEEPEST_VALUE = 8
_DEEPEST_TREE = 100
_LARGEST = sys.float_info.max


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


# What the fields hold. pydantic reads the trace's classes by their own annotations, with the bounds that stand here.


def _problem(told: str, at: str = "") -> PydanticCustomError:
    # A tuple in the context: pydantic cannot put a text with lone surrogates into its message.
    return PydanticCustomError("form", "not as it should be", {"told": (at, told)})


def _must(holds: Callable[[Any], Any], told: str) -> AfterValidator:
    def check(value: Any) -> Any:
        if not holds(value):
            raise _problem(told.format(value=str(value)[:40]))
        return value

    return AfterValidator(check)


def _up_to(most: int, unit: str = "items") -> BeforeValidator:
    """Before each item is looked at; of texts too, as pydantic's own bound refuses lone surrogates."""

    def check(value: Any) -> Any:
        if isinstance(value, str | list | dict) and len(value) > most:
            raise _problem(f"{len(value)} {unit}, more than {most}")
        return value

    return BeforeValidator(check)


def _items(kind: Any, most: int = _MOST_ITEMS) -> Any:
    """A list; what is wrong with its first wrong item is told, and the others are not looked at."""
    return Annotated[list[kind], FailFast(), _up_to(most)]


def _like(form: str, told: str) -> AfterValidator:
    return _must(lambda value: isinstance(value, str) and re.fullmatch(form, value), told)


def _one_of(names: Sequence[str]) -> Any:
    return Annotated[Any, _must(lambda value: value in names, f"{{value!r}} is none of {', '.join(names)}")]


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and -_LARGEST <= value <= _LARGEST


def _plain(value: Any, at: str, depth: int) -> Any:
    """A JSON value of any kind, not too deep and of bounded texts; numbers finite."""
    if depth > _DEEPEST_VALUE:
        raise _problem("too deeply nested", at)
    if isinstance(value, dict):
        return {_plain(key, at, 0): _plain(item, f"{at}.{key[:40]}", depth + 1) for key, item in value.items()}
    if isinstance(value, list):
        return [_plain(item, f"{at}[{i}]", depth + 1) for i, item in enumerate(value)]
    if isinstance(value, str) and len(value) > _LONGEST_TEXT:
        raise _problem(f"{len(value)} characters, more than {_LONGEST_TEXT}", at)
    if not (value is None or isinstance(value, str | bool) or _is_number(value)):
        raise _problem("not a number, or too large a one", at)
    return value


def _locator(value: dict[str, Any]) -> dict[str, Any]:
    for key in ("sparql", "url", "retrieved_at"):
        if not isinstance(value.get(key, ""), str):
            raise _problem("not a text", f".{key}")
    if not isinstance(value.get("passage", ""), str | int):
        raise _problem("not a text or number", ".passage")
    rows = value.get("rows", [])
    if not isinstance(rows, list) or not all(isinstance(row, dict) for row in rows):
        raise _problem("not a list of objects", ".rows")
    return value


_Text = Annotated[str, _up_to(_LONGEST_TEXT, "characters")]
_Name = Annotated[str, _up_to(60, "characters")]
_Number = Annotated[Any, _must(_is_number, "not a number, or too large a one")]
_Known = Annotated[_Number, BeforeValidator(lambda value: 0.0 if value is None else value)]  # null: it was not finite
_Share = Annotated[_Number, _must(lambda value: 0 <= value <= 1, "not between 0 and 1")]
_Count = Annotated[Any, _must(lambda it: type(it) is int and 0 <= it < 1 << 53, "not a whole number from 0 on")]
_Flag = Annotated[Any, _must(lambda value: isinstance(value, bool), "neither true nor false")]
_Source = Annotated[Any, _like(NAME, "{value!r} is not the name of a source")]
_EvidenceId = Annotated[Any, _like(r"e[0-9]{1,9}", "not the id of a piece of evidence, such as e1")]
_Entity = Annotated[
    Any, _like(r"[a-zA-Z][a-zA-Z0-9+.-]{0,20}:[^\s<>\"{}|\\^`]{1,500}", "not the address of a graph entity")
]
_Span = Annotated[
    list[_Count],
    FailFast(),
    _up_to(_MOST_ITEMS),
    _must(lambda span: len(span) == 2, "not the first and the last character of a text"),
    _must(lambda span: span[0] <= span[1], "ends before it begins"),
]
_NOT_ASKED = {"text": 0, "graph": 0, "web": 0}  # told in every trace; sources of other packages have other names
_Retrievals = Annotated[dict[_Source, _Count], _up_to(_MOST_ITEMS), AfterValidator(lambda asked: _NOT_ASKED | asked)]
_Values = Annotated[dict[str, Any], AfterValidator(lambda value: _plain(value, "", -1))]


def _form(make: Callable[..., Any], needed: str = "", **parts: Any) -> Any:
    """A JSON object, whose fields are given to a dataclass or to `dict`; those in `needed` may not be missing.

    `parts`: what the fields hold, with what makes the value of a missing one. Of a dataclass they name only those of
    which its own annotations and defaults do not tell that.
    """

    def schema(_source: Any, handler: Any) -> Any:
        hints = get_type_hints(make) if is_dataclass(make) else {}
        read = {}
        names = [field.name for field in fields(make)] if is_dataclass(make) else [*parts]
        for name in names:
            part = parts[name] if name in parts else _bounded(hints[name])
            kind, *absent = part if isinstance(part, tuple) else (part,)
            inner = handler.generate_schema(kind)
            if absent:
                inner = core_schema.with_default_schema(inner, default_factory=absent[0])
            read[name] = core_schema.typed_dict_field(inner, required=name in needed.split())
        found = core_schema.typed_dict_schema(read)
        return core_schema.no_info_after_validator_function(lambda given: make(**given), found)

    return Annotated[Any, GetPydanticSchema(schema)]


def _bounded(hint: Any) -> Any:
    """What a field with this annotation holds, with the bounds that all fields of the type have."""
    if hint in _BOUNDED:
        return _BOUNDED[hint]
    if isinstance(hint, type) and is_dataclass(hint):
        return _form(hint)
    first = get_args(hint)[0]
    if get_origin(hint) is Literal:
        return _one_of(get_args(hint))
    return _items(_bounded(first)) if get_origin(hint) is list else _bounded(first) | None


_ids, _texts = (_items(_EvidenceId), list), (_items(_Text), list)
_node = _form(
    NodeTrace,
    "id question kind",
    parent=(_Count | None, NoneType),
    kind=_Name,
    method=_Name | None,
    operation=_one_of(tuple(Operation)) | None,
    sources=_items(_Source),
    evidence=_items(_EvidenceId),
    cited=_items(_EvidenceId),
    scores=_items(Annotated[_Share, AfterValidator(float)]),
    entities=_items(_Entity | None),
    error=_form(dict, "message", title=(_Text, str), message=_Text) | None,
    action=_form(dict, "name", name=_Text, input=(_Text, str)) | None,
    candidates=_items(
        _form(dict, "answer", answer=_Text, score=(_Number | None, NoneType), origin=(_Text, str), evidence=_ids), 1_000
    ),
    quotes=_items(_form(dict, "evidence span", evidence=_EvidenceId, span=_Span)),
)
_trace = _form(
    Trace,
    "question strategy status answer",
    settings=(_Values, dict),
    nodes=_items(_node, 2_000),
    expects=_form(dict, "type", type=_one_of(tuple(AnswerType)), several=(_Flag, bool)) | None,
    closest=_items(_form(dict, "evidence", evidence=_EvidenceId, spans=(_items(_Span), list)), 3),
    advised=_items(_form(dict, "kind", kind=_Name, names=_texts, options=_texts)),
)
_BOUNDED: dict[Any, Any] = {
    str: _Text,
    int: _Count,
    float: _Known,
    bool: _Flag,
    Any: Annotated[Any, AfterValidator(lambda value: _plain(value, "", 0))],
    float | None: _Share | None,
    dict[str, float]: Annotated[dict[_Text, _Known], _up_to(100)],
    Totals: _form(Totals, retrievals=_Retrievals),
    Departure: _form(Departure, "what to", when=(_Text, str)),
    EvidenceTrace: _form(
        EvidenceTrace,
        "id source title text",
        id=_EvidenceId,
        source=_Source,
        score=(_Known, float),
        query=(_Text, str),
        locator=(Annotated[_Values, AfterValidator(_locator)], dict),
    ),
}
_TOLD = {"missing": "missing", "string_type": "not a text", "list_type": "not a list", "dict_type": "not an object"}
_READER: TypeAdapter[Trace] = TypeAdapter(_trace)


def parse_trace(data: Any) -> Trace:
    """The trace that the JSON value describes.

    Raises:
        InputError: naming the field that is missing or is not what it should be.
    """
    if isinstance(data, dict) and (schema := data.get("schema")) != SCHEMA:
        told = f"{str(schema)[:40]!r}, not {SCHEMA!r}" if "schema" in data else "missing"
        newer = str(schema).startswith("atomr.trace/")
        raise InputError(f"schema: {told}", hint="Update atomr-local to open it." if newer else "")
    try:
        trace = _READER.validate_python(data)
    except ValidationError as error:
        raise InputError(_told(error)) from None
    _check_tree(trace.nodes)
    _check_evidence(trace)
    return trace


def _told(error: ValidationError) -> str:
    """The first problem, and the path to it: "nodes[1].kind: not a text"."""
    first = error.errors(include_url=False)[0]
    below, told = first["ctx"]["told"] if first["type"] == "form" else ("", _TOLD.get(first["type"], first["msg"]))
    parts = [f"[{part}]" if isinstance(part, int) else f".{part[:40]}" for part in first["loc"] if part != "[key]"]
    return f"{''.join([*parts, below]).removeprefix('.') or 'the trace'}: {told}"


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
        quoted = (quote["evidence"] for quote in node.quotes)
        for named in (*node.evidence, *node.cited, *weighed, *quoted):
            if named not in known:
                raise InputError(f"nodes: {node.id} names evidence {named}, which is not there")
    for item in trace.closest:
        if item["evidence"] not in known:
            raise InputError(f"closest: names evidence {item['evidence']}, which is not there")
