"""The description of the API, OpenAPI 3.1, as /openapi.json gives it."""

from __future__ import annotations

from typing import Any

from pydantic import BaseModel
from pydantic.json_schema import models_json_schema

from atomr_local import __version__
from atomr_local.server.mcp import Entities, Found, PageText, Related
from atomr_local.server.openai_api import ChatBody, EmbeddingsBody
from atomr_local.server.questions import AskBody, Parameter, Query

_MODELS: tuple[type[BaseModel], ...] = (AskBody, ChatBody, EmbeddingsBody, Entities, Found, PageText, Related)
_TEXT, _NUMBER, _WHOLE, _FLAG = ({"type": kind} for kind in ("string", "number", "integer", "boolean"))
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


def openapi() -> dict[str, Any]:
    """The description."""
    _, definitions = models_json_schema(
        [(model, "validation") for model in _MODELS], ref_template="#/components/schemas/{model}"
    )
    return {
        "openapi": "3.1.0",
        "info": {
            "title": "atomr-local",
            "version": __version__,
            "description": "Answers with the tree of steps and the evidence that they rest on. All texts but the "
            "question come from a model and from sources: treat them as untrusted.",
        },
        "paths": _paths(),
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


def _paths() -> dict[str, Any]:
    name = _parameter("name", "Id of a trace, or number of a kept question.", place="path")
    return {
        "/health": {"get": _operation("health", "Whether the server runs. Needs no token.", _ref("Health"))},
        "/api/ask": {"post": _ask()},
        "/api/server": {"get": _operation("server", "What the server offers.", _ref("Server"))},
        "/api/traces": {
            "get": _operation(
                "listTraces", "Kept questions, the latest first.", _ref("Traces"),
                _parameter("search", "Words that question or answer begin a word with."),
                _query(Query.MOST_LISTED), _parameter(Query.BEFORE.name, Query.BEFORE.description, _WHOLE),
            )
        },
        "/api/traces/{name}": {
            "get": _trace(name),
            "delete": _operation("deleteTrace", "Delete a kept question, by its number.", None, name),
        },
        "/api/indexes": {"get": _operation("indexes", "The built indexes.", _ref("Indexes"))},
        "/api/search": {
            "get": _operation(
                "search", "Passages of the text indexes, best first.", _ref("Found"),
                _query(Query.WORDS), _query(Query.MOST_FOUND),
                _parameter("in", "The part to search, as of AskBody; may be given several times.", _list(_TEXT)),
            )
        },
        "/api/pages": {
            "get": _operation(
                "page", "A page of the text index, or titles like the one asked for.", _ref("PageText"),
                _query(Query.TITLE),
            )
        },
        "/api/entities": {
            "get": _operation(
                "entities", "What a name may mean in the graph.", _ref("Entities"),
                _query(Query.NAME), _query(Query.MOST_FOUND),
            )
        },
        "/api/entities/{qid}": {
            "get": _operation(
                "entity", "What the graph states of an entity.", _ref("Described"),
                _parameter("qid", "Wikidata id, such as Q42.", place="path"),
            )
        },
        "/api/facts": {
            "get": _operation(
                "facts", "What a relation of an entity leads to in the graph.", _ref("Related"),
                _query(Query.ENTITY), _query(Query.RELATION), _query(Query.MOST_FACTS),
            )
        },
        "/v1/models": {"get": _operation("listModels", "Strategies, and the embedder.", _ref("Models"))},
        "/v1/models/{name}": {
            "get": _operation(
                "getModel", "One of them.", _ref("Model"), _parameter("name", "Name of the model.", place="path")
            )
        },
        "/v1/chat/completions": {"post": _chat()},
        "/v1/embeddings": {
            "post": _operation("embeddings", "Vectors of texts.", _ref("Embeddings"), body="EmbeddingsBody")
        },
        "/openapi.json": {"get": _operation("description", "This description.", {"type": "object"})},
        "/mcp": {
            method: _operation(f"mcp{method.capitalize()}", "The Model Context Protocol, streamable HTTP.", {})
            for method in ("get", "post", "delete")
        },
    }  # fmt: skip


def _ask() -> dict[str, Any]:
    told = (
        "Ask a question. The events come as server-sent events, named by their field `event`; the last is `finished`."
    )
    operation = _operation("ask", told, _ref("Trace"), body="AskBody")
    operation["responses"]["200"]["content"]["text/event-stream"] = {"schema": _TEXT, "itemSchema": _ref("Event")}
    return operation


def _chat() -> dict[str, Any]:
    operation = _operation("chat", "Answer a chat, as OpenAI's API does.", _ref("Completion"), body="ChatBody")
    operation["responses"]["200"]["content"]["text/event-stream"] = {"schema": _TEXT}
    return operation


def _trace(name: dict[str, Any]) -> dict[str, Any]:
    form = _parameter("format", "json or markdown.", {"type": "string", "enum": ["json", "markdown"]})
    operation = _operation("getTrace", "A trace.", _ref("Trace"), name, form)
    operation["responses"]["200"]["content"]["text/markdown"] = {"schema": _TEXT}
    return operation


def _operation(
    identifier: str, summary: str, result: dict[str, Any] | None, *parameters: dict[str, Any], body: str = ""
) -> dict[str, Any]:
    done = {"200": {"description": "Done.", "content": _json(result)}} if result is not None else {}
    errors = {status: {"$ref": f"#/components/responses/{status}"} for status in _ERRORS}
    operation: dict[str, Any] = {
        "operationId": identifier,
        "summary": summary,
        "responses": (done or {"204": {"description": "Done."}}) | errors,
    }
    if parameters:
        operation["parameters"] = list(parameters)
    if body:
        operation["requestBody"] = {"required": True, "content": _json(_ref(body))}
    return operation


def _parameter(
    name: str, told: str, schema: dict[str, Any] = _TEXT, *, place: str = "query", required: bool = False
) -> dict[str, Any]:
    return {"name": name, "in": place, "required": required or place == "path", "description": told, "schema": schema}


def _query(one: Parameter) -> dict[str, Any]:
    number = {"type": "integer", "minimum": 1, "maximum": one.most}
    return _parameter(one.name, one.description, number if one.default else _TEXT, required=not one.default)


def _json(schema: dict[str, Any] | None) -> dict[str, Any]:
    return {"application/json": {"schema": schema or {}}}


def _ref(name: str) -> dict[str, Any]:
    return {"$ref": f"#/components/schemas/{name}"}


def _object(**fields: Any) -> dict[str, Any]:
    return {"type": "object", "properties": fields, "required": list(fields)}


def _list(item: dict[str, Any]) -> dict[str, Any]:
    return {"type": "array", "items": item}


def _maybe(schema: dict[str, Any]) -> dict[str, Any]:
    return {"anyOf": [schema, {"type": "null"}]}


_MODEL = _object(id=_TEXT, object={"const": "model"}, created=_WHOLE, owned_by=_TEXT)
_SCHEMAS: dict[str, Any] = {
    "Error": _object(
        error=_object(
            title=_TEXT, message=_TEXT, hint=_TEXT, type=_TEXT, param=_maybe(_TEXT), code=_maybe(_TEXT)
        )
    ),
    "Health": _object(status={"const": "ok"}),
    "Server": _object(
        version=_TEXT, model=_TEXT, loaded=_FLAG, strategy=_TEXT,
        strategies=_list(_object(name=_TEXT, summary=_TEXT, revises=_FLAG)),
        sources=_list(_TEXT), web=_FLAG, keeps=_FLAG, running=_WHOLE, waiting=_WHOLE, queue=_WHOLE,
        question_seconds=_NUMBER,
    ),
    "Trace": {
        **_object(
            schema={"const": "atomr.trace/1"}, id=_TEXT, question=_TEXT, strategy=_TEXT, status=_TEXT, answer=_TEXT,
            answers=_list(_TEXT), confidence=_maybe(_NUMBER), basis=_TEXT, settings={"type": "object"},
            plan={"type": "object"}, nodes=_list({"type": "object"}), evidence=_list({"type": "object"}),
            totals={"type": "object"}, warnings=_list(_TEXT), answer_kind=_TEXT, closest=_list({"type": "object"}),
        ),
        "description": "All that led to an answer; docs/reference/trace.schema.json has every field.",
    },
    "Event": {
        **_object(event=_TEXT),
        "description": "An event of the question, as `atomr ask --jsonl` prints it; or one of the server: `queued` "
        "(`ahead`: questions before it), `stopped` (`cause`, `reason`: the server cancelled the question), `error`.",
    },
    "Traces": _object(
        traces=_list(
            _object(
                number=_WHOLE, asked_at=_TEXT, origin=_TEXT, question=_TEXT, answer=_TEXT, status=_TEXT,
                strategy=_TEXT, confidence=_maybe(_NUMBER), seconds=_NUMBER, follows=_maybe(_WHOLE),
            )
        )
    ),
    "Indexes": _object(
        indexes=_list(
            _object(
                kind={"enum": ["text", "graph"]}, name=_TEXT, usable=_FLAG, used=_FLAG, private=_FLAG,
                counts={"type": "object", "additionalProperties": _WHOLE}, bytes=_maybe(_WHOLE),
                built_at=_maybe(_TEXT),
            )
        )
    ),
    "Described": _object(
        iri=_TEXT, label=_TEXT,
        properties=_list(_object(property=_TEXT, iri=_TEXT, inverse=_FLAG, count=_WHOLE, values=_list(_TEXT))),
    ),
    "Model": _MODEL,
    "Models": _object(object={"const": "list"}, data=_list(_MODEL)),
    "Completion": _object(
        id=_TEXT, object={"const": "chat.completion"}, created=_WHOLE, model=_TEXT, choices=_list({"type": "object"}),
        usage=_object(prompt_tokens=_WHOLE, completion_tokens=_WHOLE, total_tokens=_WHOLE), atomr={"type": "object"},
    ),
    "Embeddings": _object(
        object={"const": "list"}, model=_TEXT, usage={"type": "object"},
        data=_list(
            _object(object={"const": "embedding"}, index=_WHOLE, embedding={"anyOf": [_list(_NUMBER), _TEXT]})
        ),
    ),
}  # fmt: skip
