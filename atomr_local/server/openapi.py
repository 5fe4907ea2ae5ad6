"""How requests are served and described: endpoints, and of them the description of the API, OpenAPI 3.1."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field, replace
from typing import Any, TypeVar

from pydantic import BaseModel
from pydantic.json_schema import models_json_schema

from atomr_local import __version__
from atomr_local.server.questions import Parameter

Handler = TypeVar("Handler", bound=Callable[..., Any])
TEXT, _NUMBER, WHOLE, _FLAG = ({"type": kind} for kind in ("string", "number", "integer", "boolean"))
_ERRORS = {
    "400": "A parameter or a field of the body is wrong.",
    "401": "The token is missing or wrong.",
    "403": "The request comes from a page of another site, or asks for what the server does not allow.",
    "404": "There is no such thing.",
    "405": "The address has no such method.",
    "408": "The body did not arrive in time.",
    "413": "The body is too large.",
    "415": "The body is not declared as JSON.",
    "421": "The server has another name.",
    "429": "The queue is full; Retry-After tells when to try again.",
    "500": "An internal error.",
    "502": "A source failed.",
    "503": "The server stops, is overloaded, or lacks a model or an index.",
    "504": "It took too long.",
}


@dataclass(frozen=True)
class Endpoint:
    """A method of an address: declares its handler, whose docstring is the summary.

    Attributes:
        gives: what it answers with, as JSON: a model, the name of a schema below, or a schema; None: nothing.
        parameters: of the query, or as OpenAPI has them.
        name: of the operation, for programs that are made of the description; by default that of the handler.
        place: what the name in the address is, where it has one.
        body: what it takes, as JSON.
        also: what it can answer with beside JSON, by its content type.
    """

    method: str
    path: str
    gives: type[BaseModel] | str | dict[str, Any] | None
    parameters: tuple[Parameter | dict[str, Any], ...] = ()
    name: str = ""
    place: str = ""
    body: type[BaseModel] | None = None
    also: dict[str, dict[str, Any]] = field(default_factory=dict)
    summary: str = ""

    def __call__(self, handler: Handler) -> Handler:
        summary = " ".join((handler.__doc__ or "").split())
        handler.__dict__["endpoint"] = replace(self, name=self.name or handler.__name__, summary=summary)
        return handler

    def described(self) -> dict[str, Any]:
        """The operation."""
        done: dict[str, Any] = {"204": {"description": "Done."}}
        if self.gives is not None:
            done = {"200": {"description": "Done.", "content": _json(_ref(self.gives)) | self.also}}
        operation: dict[str, Any] = {
            "operationId": self.name,
            "summary": self.summary,
            "responses": done | {status: {"$ref": f"#/components/responses/{status}"} for status in _ERRORS},
        }
        named = [parameter(name, self.place, place="path") for name in re.findall(r"{(\w+)}", self.path)]
        if given := [*named, *(one if isinstance(one, dict) else _query(one) for one in self.parameters)]:
            operation["parameters"] = given
        if self.body is not None:
            operation["requestBody"] = {"required": True, "content": _json(_ref(self.body))}
        return operation


def endpoints_of(*handlers: object) -> Iterator[tuple[Endpoint, Callable[..., Any]]]:
    """The endpoints of these objects, with what serves them, in the order of their classes."""
    for one in handlers:
        for name, function in vars(type(one)).items():
            if (found := getattr(function, "__dict__", {}).get("endpoint")) is not None:
                yield found, getattr(one, name)


def openapi(endpoints: Iterable[Endpoint]) -> dict[str, Any]:
    """The description."""
    paths: dict[str, dict[str, Any]] = {}
    models: dict[type[BaseModel], None] = {}
    for one in endpoints:
        paths.setdefault(one.path, {})[one.method.lower()] = one.described()
        models |= {model: None for model in (one.body, one.gives) if isinstance(model, type)}
    told = "The Model Context Protocol, streamable HTTP."
    for method in ("get", "post", "delete"):
        served = Endpoint(method, "/mcp", {}, name=f"mcp{method.capitalize()}", summary=told)
        paths.setdefault("/mcp", {})[method] = served.described()
    _, definitions = models_json_schema(
        [(model, "validation") for model in models], ref_template="#/components/schemas/{model}"
    )
    return {
        "openapi": "3.1.0",
        "info": {
            "title": "atomr-local",
            "version": __version__,
            "description": "Answers with the tree of steps and the evidence that they rest on. All texts but the "
            "question come from a model and from sources: treat them as untrusted.",
        },
        "paths": paths,
        "security": [{"token": []}, {}],
        "components": {
            "schemas": definitions["$defs"] | _SCHEMAS,
            "responses": {
                status: {"description": told, "content": _json(_ref("Error"))} for status, told in _ERRORS.items()
            },
            "securitySchemes": {
                "token": {
                    "type": "http",
                    "scheme": "bearer",
                    "description": "Needed where the server was started with a token.",
                }
            },
        },
    }


def parameter(
    name: str, told: str, schema: dict[str, Any] = TEXT, *, place: str = "query", required: bool = False
) -> dict[str, Any]:
    return {"name": name, "in": place, "required": required or place == "path", "description": told, "schema": schema}


def _query(one: Parameter) -> dict[str, Any]:
    number = {"type": "integer", "minimum": 1, "maximum": one.most}
    return parameter(one.name, one.description, number if one.default else TEXT, required=not one.default)


def _json(schema: dict[str, Any]) -> dict[str, Any]:
    return {"application/json": {"schema": schema}}


def _ref(what: type[BaseModel] | str | dict[str, Any]) -> dict[str, Any]:
    """The schema of a model, of this name, or as it is given."""
    name = what.__name__ if isinstance(what, type) else what
    return {"$ref": f"#/components/schemas/{name}"} if isinstance(name, str) else name


def _object(**fields: Any) -> dict[str, Any]:
    return {"type": "object", "properties": fields, "required": list(fields)}


def list_of(item: dict[str, Any]) -> dict[str, Any]:
    return {"type": "array", "items": item}


def _maybe(schema: dict[str, Any]) -> dict[str, Any]:
    return {"anyOf": [schema, {"type": "null"}]}


_MODEL = _object(id=TEXT, object={"const": "model"}, created=WHOLE, owned_by=TEXT)
_SCHEMAS: dict[str, Any] = {
    "Error": _object(
        error=_object(
            title=TEXT, message=TEXT, hint=TEXT, type=TEXT, param=_maybe(TEXT), code=_maybe(TEXT)
        )
    ),
    "Health": _object(status={"const": "ok"}),
    "Server": _object(
        version=TEXT, model=TEXT, loaded=_FLAG, strategy=TEXT,
        strategies=list_of(_object(name=TEXT, summary=TEXT, revises=_FLAG)),
        sources=list_of(TEXT), web=_FLAG, keeps=_FLAG, running=WHOLE, waiting=WHOLE, queue=WHOLE,
        question_seconds=_NUMBER,
    ),
    "Trace": {
        **_object(
            schema={"const": "atomr.trace/1"}, id=TEXT, question=TEXT, strategy=TEXT, status=TEXT, answer=TEXT,
            answers=list_of(TEXT), confidence=_maybe(_NUMBER), basis=TEXT, settings={"type": "object"},
            plan={"type": "object"}, nodes=list_of({"type": "object"}), evidence=list_of({"type": "object"}),
            totals={"type": "object"}, warnings=list_of(TEXT), answer_kind=TEXT, closest=list_of({"type": "object"}),
        ),
        "description": "All that led to an answer; docs/reference/trace.schema.json has every field.",
    },
    "Event": {
        **_object(event=TEXT),
        "description": "An event of the question, as `atomr ask --jsonl` prints it; or one of the server: `queued` "
        "(`ahead`: questions before it), `stopped` (`cause`, `reason`: the server cancelled the question), `error`.",
    },
    "Traces": _object(
        traces=list_of(
            _object(
                number=WHOLE, asked_at=TEXT, origin=TEXT, question=TEXT, answer=TEXT, status=TEXT,
                strategy=TEXT, confidence=_maybe(_NUMBER), seconds=_NUMBER, follows=_maybe(WHOLE),
            )
        )
    ),
    "Indexes": _object(
        indexes=list_of(
            _object(
                kind={"enum": ["text", "graph"]}, name=TEXT, usable=_FLAG, used=_FLAG, private=_FLAG,
                counts={"type": "object", "additionalProperties": WHOLE}, bytes=_maybe(WHOLE),
                built_at=_maybe(TEXT),
            )
        )
    ),
    "Described": _object(
        iri=TEXT, label=TEXT,
        properties=list_of(_object(property=TEXT, iri=TEXT, inverse=_FLAG, count=WHOLE, values=list_of(TEXT))),
    ),
    "Model": _MODEL,
    "Models": _object(object={"const": "list"}, data=list_of(_MODEL)),
    "Completion": _object(
        id=TEXT, object={"const": "chat.completion"}, created=WHOLE, model=TEXT, choices=list_of({"type": "object"}),
        usage=_object(prompt_tokens=WHOLE, completion_tokens=WHOLE, total_tokens=WHOLE), atomr={"type": "object"},
    ),
    "Embeddings": _object(
        object={"const": "list"}, model=TEXT, usage={"type": "object"},
        data=list_of(
            _object(object={"const": "embedding"}, index=WHOLE, embedding={"anyOf": [list_of(_NUMBER), TEXT]})
        ),
    ),
}  # fmt: skip
