"""The routes: questions, look-ups, and the page for browsers."""

from __future__ import annotations

import hashlib
import json
from collections.abc import AsyncGenerator, Mapping
from contextlib import aclosing
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import BaseRoute, Route
from starlette.types import ASGIApp

from atomr_local import __version__
from atomr_local.assistant.asked import QuestionOptions, given_plan
from atomr_local.assistant.assistant import Assistant
from atomr_local.assistant.history.database import HistoryError, QuestionSummary
from atomr_local.assistant.history.export import to_markdown, unkept
from atomr_local.assistant.history.store import History, history_file
from atomr_local.errors import AtomrError, InputError, PlanError, WebDisabledError
from atomr_local.indexing.store import IndexEntry, index_names, list_indexes
from atomr_local.reasoning.confidence import NOT_FOUND, confidence_levels
from atomr_local.reasoning.revision import Revision
from atomr_local.reasoning.trace import telling
from atomr_local.reasoning.trace.events import Event, Finished
from atomr_local.reasoning.trace.schema import Trace
from atomr_local.server.mcp import Entities, Found, PageText, Passage, Related, described
from atomr_local.server.openapi import TEXT, WHOLE, Endpoint, list_of, parameter
from atomr_local.server.options import ServeOptions
from atomr_local.server.questions import (
    AskBody,
    Correction,
    EventStream,
    JsonReply,
    Query,
    Questions,
    Stopped,
    error_document,
    read_body,
    sent_event,
)
from atomr_local.server.serving import LookupDesk, Refused, without_paths, without_paths_in
from atomr_local.strategies.registry import all_strategies
from atomr_local.system.cancellation import Cancellation
from atomr_local.system.log_file import log_error
from atomr_local.system.sanitize import sanitize, sanitize_line
from atomr_local.tree.errors import TreeError

# POST /api/ask: a question, its events as they come or its trace.


class AskEndpoint:
    """Answers questions in the program's own form, and tells whether it does."""

    def __init__(self, assistant: Assistant, questions: Questions, options: ServeOptions) -> None:
        self._assistant = assistant
        self._questions = questions
        self._options = options

    @Endpoint("GET", "/health", "Health")
    async def health(self, request: Request) -> Response:
        """Whether the server runs. Needs no token."""
        return JsonReply({"status": "ok"})

    @Endpoint(
        "POST", "/api/ask", "Trace", body=AskBody,
        also={"text/event-stream": {"schema": TEXT, "itemSchema": {"$ref": "#/components/schemas/Event"}}},
    )  # fmt: skip
    async def ask(self, request: Request) -> ASGIApp:
        """Ask a question. The events come as server-sent events, named by their field `event`; the last is
        `finished`."""
        body = await read_body(request, AskBody)
        question, options = await self._asked(body)
        events = self._questions.stream(question, keep=body.keep, **options)
        if not body.stream:
            return JsonReply((await finished(events)).to_dict())
        return EventStream(told(await begun(events)), ping_seconds=self._options.ping_seconds)

    async def _asked(self, body: AskBody) -> tuple[str, QuestionOptions]:
        revision = await self._revision(body.revision) if body.revision is not None else None
        question = body.question or (revision.base.question if revision is not None else "")
        options = QuestionOptions(
            strategy=body.strategy or (revision.base.strategy if revision is not None else None),
            sources=checked_sources(self._assistant, body.sources),
            web=checked_web(self._assistant, body.web),
            revision=revision,
            conversation=await self._questions.conversation(body.earlier),
            understood=body.understood,
            within=body.within,
        )
        if body.plan is not None:
            try:
                text = body.plan if isinstance(body.plan, str) else json.dumps(body.plan)
                options["plan"] = given_plan(text, question)
            except TreeError as error:
                raise PlanError(str(error), hint="Give compact notation, the published JSON, or a trace.") from error
        return question, options

    async def _revision(self, given: Correction) -> Revision:
        return Revision(
            await self._questions.trace(given.trace),
            sources={_step(name): tuple(sources) for name, sources in given.sources.items()},
            answers={_step(name): tuple(answers) for name, answers in given.answers.items()},
            rerun=frozenset(given.rerun),
        )


def checked_sources(assistant: Assistant, given: list[str] | None) -> tuple[str, ...] | None:
    """The sources of a question: some of those that the server was started with.

    Raises:
        Refused: one is not among them.
    """
    if given is None:
        return None
    allowed = assistant.settings.sources
    if any(name not in allowed for name in given):
        raise Refused(
            400,
            f"a source is none of {', '.join(allowed)}",
            hint="The server was started with these. The web is asked for with web: true.",
            param="sources",
        )
    return tuple(given)


def checked_web(assistant: Assistant, given: bool | None) -> bool | None:
    """Whether a question may search the web.

    Raises:
        WebDisabledError: it may not, and asks for it.
    """
    if given and not assistant.web_enabled:
        raise WebDisabledError("the server searches no web", hint="Start it with --web.")
    return given


async def begun(events: AsyncGenerator[Event, None]) -> AsyncGenerator[Event, None]:
    """The events, once the first one has come.

    Raises:
        AtomrError: there is none, for the question is not served.
    """
    first = await anext(events)

    async def all_of_them() -> AsyncGenerator[Event, None]:
        async with aclosing(events):
            yield first
            async for event in events:
                yield event

    return all_of_them()


async def told(events: AsyncGenerator[Event, None]) -> AsyncGenerator[bytes, None]:
    """The events as server-sent events; what ends them early is the last one."""
    try:
        async with aclosing(events):
            async for event in events:
                data = event.to_dict()
                yield sent_event(data, name=data["event"])
    except AtomrError as error:
        yield _failed(error)
    except Exception as error:
        log_error(error)
        yield _failed(AtomrError("an internal error; the log file tells where"))


def _failed(error: AtomrError) -> bytes:
    return sent_event({"event": "error"} | error_document(error), name="error")


async def finished(events: AsyncGenerator[Event, None]) -> Trace:
    """The trace of the question.

    Raises:
        AtomrError: the question is not served.
        Refused: the server cancelled it.
    """
    stopped: Stopped | None = None
    async with aclosing(events):
        async for event in events:
            if isinstance(event, Stopped):
                stopped = event
            if isinstance(event, Finished):
                break
        else:
            raise AssertionError("a question ends with Finished")
    if stopped is not None:
        raise stopped_error(stopped)
    return event.trace


def stopped_error(stopped: Stopped) -> Refused:
    """The error for a question that the server has cancelled."""
    status = 504 if stopped.cause == "timeout" else 503
    return Refused(status, stopped.reason, title="Stopped", code=stopped.cause)


def _step(name: str) -> int:
    if not (name.isascii() and name.isdigit() and len(name) < 6):
        raise Refused(400, "a step is not named by its number", param="revision")
    return int(name)


def trace_summary(trace: Trace) -> dict[str, Any]:
    """What clients of other protocols are told of a trace beside their own fields."""
    return {
        "trace": trace.id,
        "status": trace.status,
        "understood_as": sanitize_line(trace.understood_as),
        "answers": trace.answers,
        "confidence": trace.confidence,
        "basis": trace.basis,
        "reason": trace.reason,
        "advice": telling.advice_texts(trace.advised, trace.advice, "remote"),
        "guess": trace.guess.answers if trace.guess is not None else [],
        "answer_kind": trace.answer_kind,
        "closest": trace.closest,
    }


# What the server knows without asking a question: its state, traces, indexes, and look-ups in the sources.

_LONGEST_NUMBER = 15
_TRACE = "Id of a trace, or number of a kept question."


class KnowledgeEndpoints:
    """Serves what is known. Belongs to one event loop."""

    def __init__(self, assistant: Assistant, questions: Questions, desk: LookupDesk, options: ServeOptions) -> None:
        self._assistant = assistant
        self._questions = questions
        self._options = options
        self.desk = desk

    @Endpoint("GET", "/api/server", "Server")
    async def server(self, request: Request) -> Response:
        """What the server offers."""
        settings = self._assistant.settings
        strategies = await self.desk.run(lambda _: all_strategies())
        desk = self._questions.desk
        return JsonReply(
            {
                "version": __version__,
                "model": without_paths(settings.model),
                "loaded": self._assistant.parts.backbone is not None,
                "strategy": settings.strategy,
                "strategies": [
                    {"name": item.name, "summary": item.summary, "revises": item.revises}
                    for item in strategies.values()
                ],
                "sources": list(settings.sources),
                "web": self._assistant.web_enabled,
                "keeps": settings.history.keep and self._options.keep,
                "running": desk.inside,
                "waiting": desk.waiting,
                "queue": self._options.queue,
                "question_seconds": self._options.question_seconds,
            }
        )

    @Endpoint(
        "GET", "/api/traces", "Traces",
        (
            parameter("search", "Words that question or answer begin a word with."), Query.MOST_LISTED,
            parameter(Query.BEFORE.name, Query.BEFORE.description, WHOLE),
        ), name="listTraces",
    )  # fmt: skip
    async def traces(self, request: Request) -> Response:
        """Kept questions, the latest first."""
        limit, before = Query.MOST_LISTED.number(request), Query.BEFORE.number(request)
        search = request.query_params.get("search")
        self._questions.check_history()
        kept = await self.desk.run(lambda _: _kept(search, limit, before))
        return JsonReply({"traces": [_summary(item) for item in kept]})

    @Endpoint(
        "GET", "/api/traces/{name}", "Trace",
        (parameter("format", "json or markdown.", {"type": "string", "enum": ["json", "markdown"]}),),
        name="getTrace", place=_TRACE, also={"text/markdown": {"schema": TEXT}},
    )  # fmt: skip
    async def trace(self, request: Request) -> Response:
        """A trace."""
        trace = await self._questions.trace(request.path_params["name"])
        if request.query_params.get("format", "json") == "markdown":
            return Response(to_markdown([unkept(_for_clients(trace))]), media_type="text/markdown; charset=utf-8")
        return JsonReply(trace.to_dict())

    @Endpoint("DELETE", "/api/traces/{name}", None, name="deleteTrace", place=_TRACE)
    async def forget(self, request: Request) -> Response:
        """Delete a kept question, by its number."""
        name = request.path_params["name"]
        if not (name.isascii() and name.isdigit() and len(name) <= _LONGEST_NUMBER):
            raise Refused(400, "a question is deleted by its number", hint="GET /api/traces lists the numbers.")
        forgotten = await self.desk.run(lambda _: _forgotten(int(name)))
        if forgotten is None:
            raise Refused(404, "the history has no question with this number")
        self._questions.forget(forgotten)
        return Response(status_code=204)

    @Endpoint("GET", "/api/indexes", "Indexes")
    async def indexes(self, request: Request) -> Response:
        """The built indexes."""
        # Paths are not told, nor private indexes where they may not be shared.
        settings = self._assistant.settings
        private = index_names(settings.privacy.indexes)
        used = self._assistant.parts.index_names
        entries = await self.desk.run(lambda _: list_indexes())
        if not (self._options.local or settings.privacy.share):
            entries = [entry for entry in entries if entry.name not in private]
        return JsonReply({"indexes": [_index(entry, used, private) for entry in entries]})

    @Endpoint(
        "GET", "/api/search", Found,
        (
            Query.WORDS, Query.MOST_FOUND,
            parameter("in", "The part to search, as of AskBody; may be given several times.", list_of(TEXT)),
        ),
    )  # fmt: skip
    async def search(self, request: Request) -> Response:
        """Passages of the text indexes, best first."""
        within = request.query_params.getlist("in")
        query, limit = Query.WORDS.text(request), Query.MOST_FOUND.number(request)
        found = await self.desk.run(
            lambda cancellation: self._assistant.lookups.search_text(
                query, limit=limit, within=within, cancellation=cancellation
            )
        )
        return JsonReply(Found(passages=[Passage.of(item) for item in found]).model_dump())

    @Endpoint("GET", "/api/pages", PageText, (Query.TITLE,))
    async def page(self, request: Request) -> Response:
        """A page of the text index, or titles like the one asked for."""
        title = Query.TITLE.text(request)
        found = await self.desk.run(lambda _: PageText.with_title(title, self._assistant, longest=None))
        return JsonReply(found.model_dump())

    @Endpoint("GET", "/api/entities", Entities, (Query.NAME, Query.MOST_FOUND))
    async def entities(self, request: Request) -> Response:
        """What a name may mean in the graph."""
        name, limit = Query.NAME.text(request), Query.MOST_FOUND.number(request)
        found = await self.desk.run(lambda _: self._assistant.lookups.find_entity(name, limit=limit))
        return JsonReply(Entities.of(found).model_dump())

    @Endpoint("GET", "/api/entities/{qid}", "Described", place="Wikidata id, such as Q42.")
    async def entity(self, request: Request) -> Response:
        """What the graph states of an entity."""
        qid, lookups = request.path_params["qid"], self._assistant.lookups

        def look(_: Cancellation) -> dict[str, Any] | None:
            found = lookups.entity(qid)
            if found is None or found.iri is None:
                return None
            return {"iri": sanitize(found.iri)} | described(found.text, lookups.properties(found.iri))

        known = await self.desk.run(look)
        if known is None:
            raise Refused(404, "the graph has no entity with this id")
        return JsonReply(known)

    @Endpoint("GET", "/api/facts", Related, (Query.ENTITY, Query.RELATION, Query.MOST_FACTS))
    async def facts(self, request: Request) -> Response:
        """What a relation of an entity leads to in the graph."""
        entity, relation = Query.ENTITY.text(request), Query.RELATION.text(request)
        limit = Query.MOST_FACTS.number(request)
        found = await self.desk.run(
            lambda cancellation: self._assistant.lookups.relate(entity, relation, cancellation=cancellation)
        )
        return JsonReply(Related.of(found, limit).model_dump())


def _for_clients(trace: Trace) -> Trace:
    """The trace without paths of this machine in what the program says."""
    nodes = [replace(node, error=without_paths_in({"error": node.error})["error"]) for node in trace.nodes]
    return replace(trace, nodes=nodes, warnings=list(map(without_paths, trace.warnings)))


def _kept(search: str | None, limit: int, before: int) -> list[QuestionSummary]:
    if not history_file().exists():
        return []
    with History.open() as history:
        return history.entries(search=search, limit=limit, before=before)


def _summary(item: QuestionSummary) -> dict[str, Any]:
    told = asdict(item)
    number = told.pop("id")
    return {"number": number, **told}


def _forgotten(number: int) -> str | None:
    """Delete the question; the id of its trace, or None if there is no such question."""
    if not history_file().exists():
        return None
    with History.open() as history:
        identifier = ""
        try:
            identifier = history.get(number).trace.id
        except InputError:
            return None
        except HistoryError:  # it is damaged
            pass
        history.delete([number])
    return identifier


def _index(entry: IndexEntry, used: dict[str, str], private: list[str]) -> dict[str, Any]:
    manifest, damage = entry.manifest, entry.damage()
    return {
        "kind": entry.kind,
        "name": entry.name,
        "usable": not damage,
        "used": entry.name in index_names(used.get(entry.kind, "")),
        "private": entry.name in private,
        "counts": manifest.counts if manifest is not None else {},
        "bytes": manifest.bytes if manifest is not None else None,
        "built_at": manifest.built_at if manifest is not None else None,
    }


# The page for browsers: a fixed list of files, read once. No part of a request ever names a file.

_FOLDER = Path(__file__).with_name("static")
_SCRIPT, _STYLE = "text/javascript; charset=utf-8", "text/css; charset=utf-8"
# What the files of the page are, by name. `words.json` is made from the words that the whole program uses.
PAGE_FILES: Mapping[str, str] = {
    "index.html": "text/html; charset=utf-8",
    "style.css": _STYLE,
    "icon.svg": "image/svg+xml",
    "answer.js": _SCRIPT,
    "app.js": _SCRIPT,
    "calls.js": _SCRIPT,
    "choices.js": _SCRIPT,
    "correct.js": _SCRIPT,
    "dom.js": _SCRIPT,
    "evidence.js": _SCRIPT,
    "history.js": _SCRIPT,
    "marks.js": _SCRIPT,
    "state.js": _SCRIPT,
    "theme.js": _SCRIPT,
    "token.js": _SCRIPT,
    "tree.js": _SCRIPT,
    "words.js": _SCRIPT,
}


def page_words() -> dict[str, Any]:
    """What the page says in the words of the rest of the program."""
    return {
        "notFound": NOT_FOUND,
        "confidence": [{"least": least, "word": word, "sign": sign} for least, word, sign in confidence_levels()],
        "methods": telling.METHODS,
        "measures": telling.MEASURES,
        "counts": sorted(telling.COUNTS),
        "origins": telling.ORIGINS,
        "labels": telling.LABELS,
        "ratingMeans": telling.RATING_MEANS,
        "yourAnswer": telling.YOUR_ANSWER,
        "misfit": telling.MISFIT,
        "closest": telling.CLOSEST,
        "closestInDocuments": telling.CLOSEST_IN_DOCUMENTS,
        "alsoClose": telling.ALSO_CLOSE,
        "advice": telling.advice_templates("remote"),
    }


def page_routes() -> list[BaseRoute]:
    """The routes of the page: `/` and what it is made of, at `/page/NAME`."""
    files = {name: _File((_FOLDER / name).read_bytes(), kind) for name, kind in PAGE_FILES.items()}
    words = json.dumps(page_words(), separators=(",", ":")).encode("ascii")
    files["words.json"] = _File(words, "application/json")
    index = files.pop("index.html")
    return [Route("/", index.serve), *(Route(f"/page/{name}", file.serve) for name, file in files.items())]


class _File:
    """One file of the page. A browser keeps it, and asks whether it is still the same."""

    def __init__(self, content: bytes, kind: str) -> None:
        self._content = content
        self._tag = f'"{hashlib.sha256(content).hexdigest()[:32]}"'
        self._headers = {"Content-Type": kind, "ETag": self._tag, "Cache-Control": "no-cache"}

    async def serve(self, request: Request) -> Response:
        """The file; without its content where the browser has it."""
        if _names(request.headers.getlist("if-none-match"), self._tag):
            return Response(status_code=304, headers=self._headers)
        return Response(self._content, headers=self._headers)


def _names(given: list[str], tag: str) -> bool:
    """Whether one of these tags, weak or not, is this one."""
    tags = [item.strip().removeprefix("W/") for item in ",".join(given).split(",")]
    return tag in tags or "*" in tags
