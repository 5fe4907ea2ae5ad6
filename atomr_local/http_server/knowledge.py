"""What the server knows without asking a question: its state, traces, indexes, and look-ups in the sources."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from starlette.requests import Request
from starlette.responses import Response

from atomr_local import __version__
from atomr_local.assistant import Assistant
from atomr_local.cancellation import Cancellation
from atomr_local.errors import InputError
from atomr_local.history.entries import QuestionSummary
from atomr_local.history.errors import HistoryError
from atomr_local.history.files.export import to_markdown, unkept
from atomr_local.history.store import History, history_file
from atomr_local.http_server.bodies import number_parameter, text_parameter
from atomr_local.http_server.options import ServeOptions
from atomr_local.http_server.questions import Questions
from atomr_local.http_server.replies import JsonReply
from atomr_local.indexing.store import IndexEntry, index_names, list_indexes
from atomr_local.mcp_server.results import MOST_VALUES, VALUES, Entities, PageText, Passage, Related, described
from atomr_local.reasoning.trace.schema import Trace
from atomr_local.sanitize import sanitize
from atomr_local.serving.lookup_desk import LookupDesk
from atomr_local.serving.machine_paths import without_paths, without_paths_in
from atomr_local.serving.refused import Refused
from atomr_local.strategies.registry import all_strategies

_MOST_FOUND = 50
_MOST_LISTED = 200
_LONGEST_NUMBER = 15


class KnowledgeEndpoints:
    """Serves what is known. Belongs to one event loop."""

    def __init__(self, assistant: Assistant, questions: Questions, desk: LookupDesk, options: ServeOptions) -> None:
        self._assistant = assistant
        self._questions = questions
        self._options = options
        self.desk = desk

    async def health(self, request: Request) -> Response:
        return JsonReply({"status": "ok"})

    async def server(self, request: Request) -> Response:
        """What can be asked for here, for a page that offers it."""
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

    async def traces(self, request: Request) -> Response:
        """The kept questions, the latest first."""
        limit = number_parameter(request, "limit", 50, most=_MOST_LISTED)
        before = number_parameter(request, "before", 10**15 - 1, most=10**15 - 1)
        search = request.query_params.get("search")
        self._questions.check_history()
        kept = await self.desk.run(lambda _: _kept(search, limit, before))
        return JsonReply({"traces": [_summary(item) for item in kept]})

    async def trace(self, request: Request) -> Response:
        """One trace, by its id or the number of its question."""
        trace = await self._questions.trace(request.path_params["name"])
        if request.query_params.get("format", "json") == "markdown":
            return Response(to_markdown([unkept(_for_clients(trace))]), media_type="text/markdown; charset=utf-8")
        return JsonReply(trace.to_dict())

    async def forget(self, request: Request) -> Response:
        """Delete a question of the history, by its number."""
        name = request.path_params["name"]
        if not (name.isascii() and name.isdigit() and len(name) <= _LONGEST_NUMBER):
            raise Refused(400, "a question is deleted by its number", hint="GET /api/traces lists the numbers.")
        forgotten = await self.desk.run(lambda _: _forgotten(int(name)))
        if forgotten is None:
            raise Refused(404, "the history has no question with this number")
        self._questions.forget(forgotten)
        return Response(status_code=204)

    async def indexes(self, request: Request) -> Response:
        """The built indexes. Paths are not told, nor private indexes where they may not be shared."""
        settings = self._assistant.settings
        private = index_names(settings.privacy.indexes)
        used = self._assistant.parts.index_names
        entries = await self.desk.run(lambda _: list_indexes())
        if not (self._options.local or settings.privacy.share):
            entries = [entry for entry in entries if entry.name not in private]
        return JsonReply({"indexes": [_index(entry, used, private) for entry in entries]})

    async def search(self, request: Request) -> Response:
        """Passages of the text indexes."""
        query, limit = text_parameter(request, "q"), number_parameter(request, "limit", 5, most=_MOST_FOUND)
        found = await self.desk.run(
            lambda cancellation: self._assistant.lookups.search_text(query, limit=limit, cancellation=cancellation)
        )
        return JsonReply({"passages": [Passage.of(item).model_dump() for item in found]})

    async def page(self, request: Request) -> Response:
        """A page of the text index, or titles like the one that was asked for."""
        title, lookups = text_parameter(request, "title", most=500), self._assistant.lookups

        def look(_: Cancellation) -> PageText:
            if (found := lookups.read_page(title)) is not None:
                return PageText.of(found)
            return PageText(title="", text="", similar_titles=list(map(sanitize, lookups.similar_titles(title))))

        return JsonReply((await self.desk.run(look)).model_dump())

    async def entities(self, request: Request) -> Response:
        """What a name may mean in the graph."""
        name = text_parameter(request, "name", most=500)
        limit = number_parameter(request, "limit", 5, most=_MOST_FOUND)
        found = await self.desk.run(lambda _: self._assistant.lookups.find_entity(name, limit=limit))
        return JsonReply(Entities.of(found).model_dump())

    async def entity(self, request: Request) -> Response:
        """What the graph states of an entity, by its Wikidata id."""
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

    async def facts(self, request: Request) -> Response:
        """One hop in the graph: what a relation of an entity leads to."""
        entity = text_parameter(request, "entity", most=500)
        relation = text_parameter(request, "relation", most=500)
        limit = number_parameter(request, "limit", VALUES, most=MOST_VALUES)
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
    return {
        "number": item.id,
        "asked_at": item.asked_at,
        "origin": item.origin,
        "question": item.question,
        "answer": item.answer,
        "status": item.status,
        "strategy": item.strategy,
        "confidence": item.confidence,
        "seconds": item.seconds,
        "follows": item.follows,
    }


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
