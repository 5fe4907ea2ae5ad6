"""The composition root: builds model, sources, planner and strategy from the settings, and answers questions."""

from __future__ import annotations

import asyncio
import queue
import threading
from collections import deque
from collections.abc import AsyncGenerator, Callable, Generator, Iterator, Sequence
from contextlib import ExitStack, aclosing, closing, contextmanager, suppress
from typing import TYPE_CHECKING, Any, Generic, TypeVar, Unpack

from atomr_local.assistant.asked import Answer, Asked, QuestionOptions, checked_question
from atomr_local.assistant.session import QuestionGate, Session, Stage, busy, question_context, quiet, run_sparql
from atomr_local.errors import Cancelled, InputError
from atomr_local.language.question_kind import understands
from atomr_local.language.referring import refers_out
from atomr_local.reasoning.conversation import Conversation
from atomr_local.reasoning.revision import ResultCache, Revision
from atomr_local.reasoning.trace.events import (
    AnswerReady,
    Event,
    Finished,
    NodeJudged,
    PlanReady,
    QuestionUnderstood,
    StageChanged,
    WarningRaised,
)
from atomr_local.reasoning.trace.recorder import Recorder, logged
from atomr_local.reasoning.trace.schema import PlanOrigin, Trace
from atomr_local.reasoning.verdict.judge import AvailableSources, asked_back, conclusion, failure, judge, planned_kind
from atomr_local.settings.file import changed_settings
from atomr_local.settings.schema import Settings, load_settings
from atomr_local.sources.privacy import check_private, private_indexes, read_indexes, withheld_indexes
from atomr_local.sources.protocol import (
    Evidence,
    GraphTools,
    KnowledgeSource,
    Linked,
    Page,
    Pages,
    PropertyOffer,
    Request,
    Retrieval,
    SourceName,
    Value,
    ValueKind,
)
from atomr_local.sources.text_parts import PartOfTexts, parse_within
from atomr_local.strategies.options import options_of
from atomr_local.strategies.protocol import QuestionContext, Strategy, Unclear, understand
from atomr_local.strategies.registry import find_strategy
from atomr_local.strategies.shared.plans import make_plan
from atomr_local.system.cancellation import Cancellation
from atomr_local.system.log_file import log_error
from atomr_local.system.sanitize import sanitize_line
from atomr_local.system.threads import trim_memory
from atomr_local.tree.calls import Operator
from atomr_local.tree.nodes import ROOT_ID, Tree

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from atomr_local.assistant.session import GraphRows
    from atomr_local.models.protocol import Backbone
    from atomr_local.strategies.processes.process import Process


# Looking things up in the sources without asking a question: no model is loaded.

_LONGEST = 2000


class Lookups:
    """What the local sources of the settings hold. Thread-safe; also beside running questions.

    All texts that it gives come from the sources: untrusted.

    Raises (all methods):
        InputError: a text is empty or too long, or the settings do not use the source.
        AtomrError: the source cannot be opened, or failed.
    """

    def __init__(self, parts: Session, gate: QuestionGate) -> None:
        self._parts = parts
        self._gate = gate

    def search_text(
        self, query: str, *, limit: int = 5, within: Sequence[str] = (), cancellation: Cancellation | None = None
    ) -> tuple[Evidence, ...]:
        """The passages that suit the query best, best first; of a part of the index where `within` names one, see
        :meth:`Assistant.ask`."""
        query, part = _checked("query", query), parse_within(within)
        with self._open(SourceName.TEXT) as whole:
            source = PartOfTexts(whole, part) if part is not None else whole
            return source.retrieve(Request(query, query, top_k=limit), cancellation or Cancellation()).evidence

    def read_page(self, title: str) -> Page | None:
        """The page with this title, or the one that a redirect of this title leads to; None if there is none."""
        title = _checked("title", title)
        with self._pages() as pages:
            return pages.page(title)

    def similar_titles(self, title: str, *, limit: int = 5) -> tuple[str, ...]:
        """Titles of pages like this one."""
        title = _checked("title", title)
        with self._pages() as pages:
            return pages.similar_titles(title, limit)

    def find_entity(self, name: str, *, limit: int = 5) -> tuple[Linked, ...]:
        """The entities of the graph that the name may mean, best first."""
        name = _checked("name", name)
        with self._graph() as graph:
            return graph.link(name, limit)

    def entity(self, qid: str) -> Value | None:
        """The entity with this Wikidata id, such as "Q42"; None if the graph does not have it."""
        qid = _checked("id", qid)
        with self._graph() as graph:
            return graph.entity_of("", qid)

    def properties(self, iri: str) -> tuple[PropertyOffer, ...]:
        """What the graph states of the entity with this IRI, with a few values of each property."""
        iri = _checked("IRI", iri)
        with self._graph() as graph:
            return graph.properties(iri)

    def relate(self, entity: str, relation: str, *, cancellation: Cancellation | None = None) -> Retrieval:
        """One hop in the graph: what `relation` ("mother", "place of birth") leads to from the entity."""
        entity, relation = _checked("entity", entity), _checked("relation", relation)
        arguments = (Value(entity, ValueKind.ENTITY), Value(relation))
        request = Request("", f"{entity} {relation}", Operator.RELATE, arguments)
        with self._open(SourceName.GRAPH) as source:
            return source.retrieve(request, cancellation or Cancellation())

    def embed(self, texts: Sequence[str]) -> tuple[str, NDArray[np.float32]]:
        """What names the embedder of the settings and its weights, and the texts' unit vectors, one a row.

        Raises:
            ModelError: the embedder cannot be used.
        """
        with self._gate.lookup():
            self._parts.load((), quiet, alone=lambda: self._gate.single, model=False)
            embedder = self._parts.embedder()
            return embedder.identity, embedder.encode(texts)

    @contextmanager
    def _pages(self) -> Iterator[Pages]:
        with self._open(SourceName.TEXT) as source:
            if not isinstance(source, Pages):
                raise InputError("the source text cannot open pages")
            yield source

    @contextmanager
    def _graph(self) -> Iterator[GraphTools]:
        with self._open(SourceName.GRAPH) as source:
            if not isinstance(source, GraphTools):
                raise InputError("the source graph cannot be looked around in")
            yield source

    @contextmanager
    def _open(self, name: SourceName) -> Iterator[KnowledgeSource]:
        check_used(self._parts.settings, name)
        with self._gate.lookup():
            self._parts.load((name,), quiet, alone=lambda: self._gate.single, model=False)
            yield self._parts.sources[name]


def check_used(settings: Settings, name: SourceName) -> None:
    """
    Raises:
        InputError: the settings do not use this source.
    """
    if name not in settings.sources:
        raise InputError(
            f"the settings do not use the source {name.value}", hint=f"Add it: --sources {name.value}, or sources."
        )


def _checked(what: str, text: str) -> str:
    text = sanitize_line(text)
    if not text:
        raise InputError(f"the {what} is empty")
    if len(text) > _LONGEST:
        raise InputError(f"the {what} has {len(text)} characters, more than {_LONGEST}", hint="Shorten it.")
    return text


# Items that threads hand to an event loop.

_Item = TypeVar("_Item")


class LoopQueue(Generic[_Item]):
    """A queue that any thread fills and one task of an event loop empties.

    The loop is woken once for all items that come before it gets to run. With a wake-up for each item, the thread that
    fills the queue and the loop would take the interpreter lock from each other at each of them.

    Args:
        loop: of the task that empties it.
    """

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self._loop = loop
        self._items: deque[_Item] = deque()
        self._filled = asyncio.Event()
        self._waking = False  # set before the loop is told, cleared by the loop before it looks at the items

    def put(self, item: _Item) -> None:
        """Add the item. From any thread; without effect once the loop is closed, for nobody listens then."""
        self._items.append(item)
        if not self._waking:
            self._waking = True
            with suppress(RuntimeError):
                self._loop.call_soon_threadsafe(self._wake)

    async def get(self) -> _Item:
        """The next item, taken out; waits for one. Does not give way to other tasks while there are items."""
        while not self._items:
            self._filled.clear()
            await self._filled.wait()
        return self._items.popleft()

    def _wake(self) -> None:
        self._waking = False
        self._filled.set()


class Assistant:
    """Answers questions. Opening is cheap; model and indexes load on first need and stay.

    Use as a context manager (`with` or `async with`), or call :meth:`close`. Thread-safe. :meth:`answer` and
    :meth:`stream` take as many questions at once as the model has slots (`llm.parallel`); others wait for their turn.
    """

    def __init__(self, settings: Settings, backbone: Backbone | None = None) -> None:
        self.parts = Session(settings, backbone)
        self.last_trace: Trace | None = None
        self._remembered: tuple[Trace, ResultCache] | None = None
        self._gate = QuestionGate()
        self._cancellation = Cancellation()
        self._running: set[Cancellation] = set()
        self._queries: set[Cancellation] = set()
        self._web = settings.web.enabled

    @classmethod
    def open(cls, settings: Settings | None = None, **overrides: Any) -> Assistant:
        """An assistant with these settings; `overrides` are settings by name (`model=…`, `sources=("graph",)`).

        Raises:
            SettingsError: a value is not usable.
        """
        if settings is None:
            settings = load_settings(**overrides)
        elif overrides:
            settings = load_settings(**{**settings.model_dump(), **overrides})
        return cls(settings)

    def __enter__(self) -> Assistant:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    async def __aenter__(self) -> Assistant:
        return self

    async def __aexit__(self, *_: object) -> None:
        await asyncio.to_thread(self.close)

    @property
    def settings(self) -> Settings:
        """What holds now; change it with :meth:`reconfigure`."""
        return self.parts.settings

    @property
    def web_enabled(self) -> bool:
        return self._web

    def set_web(self, enabled: bool) -> None:
        """Allow or forbid web search from the next retrieval on; not written to the settings file."""
        self._web = enabled

    def close(self) -> None:
        """Cancel what runs and free model and indexes."""
        self.cancel()
        self.parts.close()

    def cancel(self) -> None:
        """Stop what runs or waits: questions, which end with status "cancelled", and graph queries. From any thread."""
        for running in (self._cancellation, *tuple(self._running), *tuple(self._queries)):
            running.cancel()

    def stop_loading(self) -> None:
        """End the wait for the model, because the program ends. From any thread."""
        self.parts.stop_loading()

    def reconfigure(self, **changes: Any) -> None:
        """Go on with other settings, by top-level name, those of a group as a dictionary of what changes.

        Frees only the parts that rest on what has changed; :meth:`preload` or the next question opens them again.
        Nothing is written to the settings file. A value of None takes the one of the file and the environment.

        Raises:
            SettingsError: a value is not usable; nothing has changed.
            InputError: a question is being answered.
        """
        settings = changed_settings(self.settings, changes)
        options_of(find_strategy(settings.strategy), settings)
        with self._gate.exclusive():
            if settings.web.enabled != self.settings.web.enabled:
                self._web = settings.web.enabled
            self.parts.reconfigure(settings)

    def query_graph(
        self, sparql: str, *, timeout: float = 10.0, limit: int = 500, cancellation: Cancellation | None = None
    ) -> GraphRows:
        """Run a person's SPARQL over the graph index that questions use. Blocks; also beside a running question.

        Nothing can be changed by it or fetched from elsewhere. It runs in a process of its own, for Oxigraph cannot
        stop a query: :meth:`cancel`, the time limit and the memory limit end that process.

        Args:
            timeout: seconds it may take.
            limit: rows at most.
            cancellation: ends the query when it is thrown.

        Raises:
            InputError: the settings do not use the source graph.
            QueryError: it is refused, malformed, took too long or too much memory.
            KnowledgeIndexError: there is no whole graph index.
            Cancelled: :meth:`cancel` was called, or `cancellation` thrown.
        """
        check_used(self.settings, SourceName.GRAPH)
        cancellation = cancellation or Cancellation()
        self._queries.add(cancellation)
        try:
            return run_sparql(
                self.parts.graph_directory(), sparql, timeout=timeout, limit=limit, cancellation=cancellation
            )
        finally:
            self._queries.discard(cancellation)

    @property
    def lookups(self) -> Lookups:
        """Search, pages, entities and relations without a question; no model is loaded for it."""
        return Lookups(self.parts, self._gate)

    def example_questions(self) -> list[str] | None:
        """Questions made from what the open indexes hold; None where only the starter's are open."""
        from atomr_local.sources.example_questions import example_questions

        return example_questions(self.parts.sources, self.parts.index_names)

    def preload(self, on_stage: Stage | None = None) -> None:
        """Load the model and the settings' local sources, side by side; returns when both are ready.

        Raises:
            AtomrError: a part cannot be loaded.
        """
        self.parts.load(self.settings.sources, on_stage or quiet)

    def plan(self, question: str) -> PlanReady:
        """Decompose the question without answering it.

        Raises:
            InputError: the question is empty or too long.
            ModelError: the model cannot be used.
        """
        question = checked_question(question)
        return make_plan(question, self.model_tools(question))

    def model_tools(self, question: str) -> QuestionContext:
        """Tools for other work on a question than answering it: the model without a source. No trace is kept.

        Raises:
            ModelError: the model cannot be used.
        """
        self.parts.load((), quiet)
        recorder = Recorder(question, "atomr", self.parts.describe((), False), lambda _event: None)
        self._cancellation = Cancellation()
        # What a model on this machine reads stays on it.
        remote = bool(self.settings.endpoint.url.remote_host())
        withheld = withheld_indexes(self.settings, ()) if remote else frozenset[str]()
        return question_context(self.parts, {}, recorder, self._cancellation, withheld=withheld)

    def do_again(self, process: Process) -> Process:
        """Use the tools as a solution process does; the process with the observations of now, and the indexes read.

        Blocks. Nothing goes to the web. The model is asked only for what no person has read or written.

        Raises:
            InputError: something of the process does not hold; a question is being answered.
            AtomrError: a source or the model cannot be used.
            Cancelled: :meth:`cancel` was called.
        """
        from atomr_local.strategies.processes.process import done_again

        with self._gate.exclusive():
            cancellation = self._cancellation = Cancellation()
            local = tuple(name for name in self.settings.sources if name in (SourceName.TEXT, SourceName.GRAPH))
            check_private(self.settings, local, web=False)
            self.parts.load(local, quiet, cancellation)
            recorder = Recorder(
                process.question, process.method, self.parts.describe(local, False), lambda _event: None
            )
            sources = self.parts.chosen(local, False, recorder.leaves)
            try:
                with closing(question_context(self.parts, sources, recorder, cancellation)) as tools:
                    done = done_again(process, tools)
            finally:
                self.parts.release(sources)
        if done.problems:
            raise InputError(
                f"the process does not hold: {'; '.join(done.problems[:3])}",
                hint="Correct these steps; what can be named was in the question or in an earlier observation.",
            )
        return done.process.quoting(read_indexes(self.settings, local))

    def ask(
        self,
        question: str,
        *,
        plan: Tree | None = None,
        plan_origin: PlanOrigin = "user",
        strategy: str | None = None,
        sources: Sequence[str] | None = None,
        web: bool | None = None,
        revision: Revision | None = None,
        conversation: Conversation | None = None,
        understood: str | None = None,
        within: Sequence[str] | None = None,
    ) -> Iterator[Event]:
        """Answer the question; the last event is `Finished`, which holds the trace.

        The work runs on a thread of its own. Leaving the iterator early cancels it.

        Args:
            plan: execute this plan instead of making one.
            sources: local sources to use; default: the settings'.
            web: whether web search may be used; default: the switch.
            revision: what of an earlier answer is corrected; what that does not touch keeps its result. Without `plan`
                the plan is the earlier answer's.
            conversation: the turns before; the question may refer to them.
            understood: how a person says that the follow-up question is meant; the model is not asked then.
            within: the part of the text index to ask: paths, patterns, "#tag", "after:2024-05", "before:2024-05-31".
                Several paths or tags: any of them. The other sources are left out. A correction keeps to its answer's.

        Raises:
            PlanError: the plan breaks a rule, or is larger than the limits of the settings.
            InputError: the question is empty or too long; `within` cannot be read or asked; the revision does not fit
                the plan, the sources, the part or the strategy; the strategy takes no plan, or lacks a source that it
                needs; another question is being answered.
            SettingsError: there is no such strategy or source, or an option of the strategy is not usable.
        """
        asked = self._asked(
            question,
            plan=plan,
            plan_origin=plan_origin,
            strategy=strategy,
            sources=sources,
            web=web,
            revision=revision,
            conversation=conversation,
            understood=understood,
            within=within,
        )
        if self._gate.busy:
            raise busy()
        self._cancellation = Cancellation()
        return self._events(asked, self._cancellation, waits=False)

    def stream(self, question: str, **options: Unpack[QuestionOptions]) -> Iterator[Event]:
        """As :meth:`ask`, with the same options; waits for its turn where too many questions are being answered."""
        return self._events(self._asked(question, **options), Cancellation())

    def answer(self, question: str, **options: Unpack[QuestionOptions]) -> Answer:
        """Answer the question, with the options of :meth:`ask`; blocks, and waits for its turn.

        What goes wrong while it is answered is told by the answer's status and text.

        Raises:
            AtomrError: what :meth:`ask` raises.
            Cancelled: :meth:`cancel` was called while it waited for its turn.
        """
        with closing(self._events(self._asked(question, **options), Cancellation())) as events:
            return Answer(next(event.trace for event in events if isinstance(event, Finished)))

    async def astream(
        self, question: str, *, cancellation: Cancellation | None = None, **options: Unpack[QuestionOptions]
    ) -> AsyncGenerator[Event, None]:
        """As :meth:`stream`, for asyncio. Closing the iterator, or cancelling its task, cancels the question.

        Args:
            cancellation: cancels the question when it is thrown; `Finished` then still comes.
        """
        cancellation = cancellation or Cancellation()
        found: LoopQueue[Event | BaseException | None] = LoopQueue(asyncio.get_running_loop())
        worker = self._begun(lambda: self._asked(question, **options), cancellation, found.put)
        over = False
        try:
            while not over:
                item = await found.get()
                over = not isinstance(item, Event)
                if isinstance(item, BaseException):
                    raise item
                if item is not None:
                    yield item
        finally:
            cancellation.cancel()
            if over:
                worker.join()  # to say so was the last that it did
            else:
                await asyncio.shield(asyncio.to_thread(worker.join))

    async def aanswer(self, question: str, **options: Unpack[QuestionOptions]) -> Answer:
        """As :meth:`answer`, for asyncio. Cancelling its task cancels the question."""
        async with aclosing(self.astream(question, **options)) as events:
            return Answer(await anext(event.trace async for event in events if isinstance(event, Finished)))

    def _asked(self, question: str, **options: Unpack[QuestionOptions]) -> Asked:
        return Asked.checked(question, self.settings, self._web, **options)

    def _events(self, asked: Asked, cancellation: Cancellation, *, waits: bool = True) -> Generator[Event, None, None]:
        found: queue.SimpleQueue[Event | BaseException | None] = queue.SimpleQueue()
        # Begun here and not before: an iterator that is never begun must not block the next question.
        worker = self._begun(lambda: asked, cancellation, found.put, waits=waits)
        try:
            while isinstance(item := found.get(), Event):
                yield item
            if item is not None:
                raise item
        finally:
            cancellation.cancel()
            worker.join()

    def _begun(
        self,
        asked: Callable[[], Asked],
        cancellation: Cancellation,
        put: Callable[[Event | BaseException | None], None],
        *,
        waits: bool = True,
    ) -> threading.Thread:
        """The thread that answers a question. It puts the events, and at its end None, or the error that ended it:
        InputError if another one is being answered and it does not wait, Cancelled if it was cancelled as it waited."""

        def tell(event: Event) -> None:
            if isinstance(event, Finished):
                self.last_trace = event.trace
            put(event)

        def answer() -> None:
            given = asked()
            if waits:
                self._gate.enter(self.settings.llm.parallel, cancellation)
            else:
                self._gate.try_enter()
                self._cancellation = cancellation
            try:
                self._answer(given, cancellation, logged(tell))
            finally:
                cancellation.cancel()
                trim_memory()
                self._gate.leave()

        def work() -> None:
            ended: BaseException | None = None
            try:
                answer()
            except BaseException as error:
                ended = error
            self._running.discard(cancellation)
            put(ended)

        self._running.add(cancellation)
        worker = threading.Thread(target=work, name="atomr-question", daemon=True)
        worker.start()
        return worker

    def _answer(self, asked: Asked, cancellation: Cancellation, sink: Callable[[Event], None]) -> None:
        parts, method, local, use_web = self.parts, asked.method, asked.sources, asked.web
        shown: dict[str, Any] = {}
        if type(asked.options).model_fields:
            shown["options"] = asked.options.model_dump(mode="json")
        if asked.within is not None:
            shown["in"] = list(asked.within.given)
        recorder = Recorder(asked.question, method.name, parts.describe(local, use_web) | shown, sink)
        sources: dict[str, KnowledgeSource] = {}
        ending = ExitStack()
        follows = asked.understood is not None or bool(asked.conversation)
        try:
            if self._is_declined(asked, recorder):
                return
            parts.load(
                local if method.uses_sources else (),
                lambda stage: recorder.emit(StageChanged(stage=stage)),
                cancellation,
                alone=lambda: self._gate.single,
            )
            recorder.settle(parts.describe(local, use_web))
            sources = parts.chosen(local, use_web, recorder.leaves) if method.uses_sources else {}
            if asked.within is not None:
                sources = {SourceName.TEXT: PartOfTexts(sources[SourceName.TEXT], asked.within)}
            if asked.left_out:
                left_out = f"asked in a part of the text index: without {' and '.join(asked.left_out)}"
                recorder.emit(WarningRaised(message=left_out))
            tools = question_context(
                parts,
                sources,
                recorder,
                cancellation,
                options=asked.options,
                revision=asked.revision,
                earlier=self._earlier(asked.revision),
                conversation=asked.conversation,
            )
            ending.callback(tools.close)
            question = asked.question
            if follows:
                recorder.emit(StageChanged(stage="understanding"))
                question = understand(
                    question,
                    tools,
                    given=asked.understood,
                    rewrites=parts.skills.rewrites,
                    asks_back=asked.plan is None and self.settings.features.decline,
                )
            # Known from now on, for a cancelled answer can be corrected too.
            self._remembered = (recorder.trace, tools.cache)
            method.run(question, asked.plan, asked.origin, tools)
            self._conclude(recorder, method, local, use_web)
        except Unclear as unclear:
            recorder.emit(asked_back(unclear.reference))
        except Cancelled:
            recorder.emit(AnswerReady(status="cancelled", answer="Cancelled."))
        except BaseException as error:  # the consumer waits for `Finished`: whatever happens, it must come
            log_error(error)
            for event in failure(error):
                recorder.emit(event)
        finally:
            ending.close()
            parts.release(sources)
            while not parts.notes.empty():
                recorder.emit(WarningRaised(message=parts.notes.get()))
            recorder.finish()

    def _is_declined(self, asked: Asked, recorder: Recorder) -> bool:
        """Whether there is nothing to plan or to look up in what was typed, by itself; then that is the answer."""
        if asked.plan is not None or not self.settings.features.decline:
            return False
        kind = understands(asked.understood or asked.question)[0]
        first = asked.understood is None and not (asked.conversation is not None and asked.conversation.turns)
        unclear = refers_out(asked.question) if first and kind == "question" else None
        if kind == "question" and unclear is None:
            return False
        if asked.conversation:
            text = asked.understood or asked.question
            recorder.emit(QuestionUnderstood(understood_as=text, conversation=asked.conversation.id))
        verdict = judge(recorder.trace, accept=0.0, kind=kind)
        recorder.emit(asked_back(unclear) if unclear is not None else conclusion(recorder.trace, verdict))
        return True

    def _conclude(self, recorder: Recorder, method: Strategy, local: tuple[str, ...], web: bool) -> None:
        """Judge what was found, and emit it as the whole question's answer."""
        trace, parts = recorder.trace, self.parts
        verdict = judge(
            trace,
            accept=parts.skills.calibration.bound(trace.node(ROOT_ID).signals if trace.nodes else {}),
            at_hand=lambda: AvailableSources(
                web, local, parts.other_indexes(local), private=bool(private_indexes(self.settings, local))
            ),
            kind=planned_kind(trace),
            retrieves=method.uses_sources,
            decline=self.settings.features.decline,
        )
        for node_id, (outcome, reason) in verdict.nodes.items():
            recorder.emit(NodeJudged(node_id=node_id, outcome=outcome, reason=reason))
        recorder.emit(conclusion(trace, verdict))

    def _earlier(self, revision: Revision | None) -> ResultCache | None:
        """The results of the answer that is corrected, if it was the last one."""
        if revision is None or self._remembered is None or revision.base is not self._remembered[0]:
            return None
        return self._remembered[1]
