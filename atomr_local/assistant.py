"""The composition root: builds model, sources, planner and strategy from the settings, and answers questions."""

from __future__ import annotations

import queue
import threading
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

from atomr_local import paths
from atomr_local.asked import Asked, checked_question
from atomr_local.backbone.announced import announced
from atomr_local.cancellation import Cancellation
from atomr_local.errors import Cancelled, InputError
from atomr_local.language.is_question import understands
from atomr_local.log_file import log_error
from atomr_local.parts import Parts, Stage, quiet
from atomr_local.planning.examples import ExampleLibrary
from atomr_local.planning.planner import Planner
from atomr_local.reasoning.conversation import Conversation
from atomr_local.reasoning.result_reuse import ResultCache
from atomr_local.reasoning.revision import Revision
from atomr_local.reasoning.trace.event_log import logged
from atomr_local.reasoning.trace.events import (
    AnswerReady,
    Event,
    Finished,
    NodeJudged,
    PlanReady,
    StageChanged,
    WarningRaised,
)
from atomr_local.reasoning.trace.recorder import Recorder
from atomr_local.reasoning.trace.schema import PlanOrigin, Trace
from atomr_local.reasoning.verdict.conclusion import conclusion, failure, planned_kind
from atomr_local.reasoning.verdict.judge import AtHand, judge
from atomr_local.settings.file import changed_settings
from atomr_local.settings.schema import Settings, load_settings
from atomr_local.sources.protocol import KnowledgeSource
from atomr_local.strategies.options import StrategyOptions, options_of
from atomr_local.strategies.plans import make_plan
from atomr_local.strategies.protocol import Strategy, Toolbox
from atomr_local.strategies.registry import find_strategy
from atomr_local.strategies.understanding import understand
from atomr_local.system.memory import trim_memory
from atomr_local.tree.nodes import Tree

if TYPE_CHECKING:
    from atomr_local.backbone.protocol import Backbone
    from atomr_local.graph_console import GraphRows


class Assistant:
    """Answers questions, one at a time. Opening is cheap; model and indexes load on first need and stay.

    Use as a context manager, or call :meth:`close`.
    """

    def __init__(self, settings: Settings, backbone: Backbone | None = None) -> None:
        self.parts = Parts(settings, backbone)
        self.last_trace: Trace | None = None
        self._remembered: tuple[Trace, ResultCache] | None = None
        self._asking = threading.Lock()
        self._cancellation = Cancellation()
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
        """Stop the running question, which ends with status "cancelled", and graph queries. From any thread."""
        self._cancellation.cancel()
        for query in tuple(self._queries):
            query.cancel()

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
        if not self._asking.acquire(blocking=False):
            raise _busy()
        try:
            if settings.web.enabled != self.settings.web.enabled:
                self._web = settings.web.enabled
            self.parts.reconfigure(settings)
        finally:
            self._asking.release()

    def query_graph(self, sparql: str, *, timeout: float = 10.0, limit: int = 500) -> GraphRows:
        """Run a person's SPARQL over the graph index that questions use. Blocks; also beside a running question.

        Nothing can be changed by it or fetched from elsewhere. It runs in a process of its own, for Oxigraph cannot
        stop a query: :meth:`cancel`, the time limit and the memory limit end that process.

        Args:
            timeout: seconds it may take.
            limit: rows at most.

        Raises:
            QueryError: it is refused, malformed, took too long or too much memory.
            KnowledgeIndexError: there is no whole graph index.
            Cancelled: :meth:`cancel` was called.
        """
        from atomr_local.graph_console import run

        cancellation = Cancellation()
        self._queries.add(cancellation)
        try:
            return run(self.parts.graph_directory(), sparql, timeout=timeout, limit=limit, cancellation=cancellation)
        finally:
            self._queries.discard(cancellation)

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
        self.parts.load((), quiet)
        recorder = Recorder(question, "atomr", self.parts.describe((), False), lambda _event: None)
        return make_plan(question, self._tools({}, recorder, Cancellation()))

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

        Raises:
            PlanError: the plan breaks a rule, or is larger than the limits of the settings.
            InputError: the question is empty or too long; the revision does not fit the plan, the sources or the
                strategy; the strategy takes no plan, or lacks a source that it needs; another question is being
                answered.
            SettingsError: there is no such strategy or source, or an option of the strategy is not usable.
        """
        asked = Asked.checked(
            question,
            self.settings,
            plan,
            plan_origin,
            strategy=strategy,
            sources=sources,
            web=self._web if web is None else web,
            revision=revision,
            conversation=conversation,
            understood=understood,
        )
        if self._asking.locked():
            raise _busy()
        cancellation = self._cancellation = Cancellation()
        events: queue.SimpleQueue[Event] = queue.SimpleQueue()
        worker = threading.Thread(
            target=self._answer,
            args=(asked, cancellation, logged(events.put)),
            name="atomr-question",
            daemon=True,
        )
        return self._stream(worker, events, cancellation)

    def _stream(
        self, worker: threading.Thread, events: queue.SimpleQueue[Event], cancellation: Cancellation
    ) -> Iterator[Event]:
        # Taken here and not in `ask`: an iterator that is never begun must not block the next question.
        if not self._asking.acquire(blocking=False):
            raise _busy()
        self._cancellation = cancellation
        worker.start()
        try:
            while True:
                event = events.get()
                if isinstance(event, Finished):
                    self.last_trace = event.trace
                    yield event
                    return
                yield event
        finally:
            cancellation.cancel()
            worker.join()
            trim_memory()
            self._asking.release()

    def _answer(self, asked: Asked, cancellation: Cancellation, sink: Callable[[Event], None]) -> None:
        parts, method, local, use_web = self.parts, asked.method, asked.sources, asked.web
        shown = {"options": asked.options.model_dump(mode="json")} if type(asked.options).model_fields else {}
        recorder = Recorder(asked.question, method.name, parts.describe(local, use_web) | shown, sink)
        sources: dict[str, KnowledgeSource] = {}
        follows = asked.understood is not None or (asked.conversation is not None and bool(asked.conversation.turns))
        try:
            if not follows and self._is_no_question(asked.question, asked.plan, recorder):
                return
            parts.load(
                local if method.uses_sources else (),
                lambda stage: recorder.emit(StageChanged(stage=stage)),
                cancellation,
            )
            recorder.settle(parts.describe(local, use_web))
            sources = parts.chosen(local, use_web, recorder.leaves) if method.uses_sources else {}
            tools = self._tools(sources, recorder, cancellation, asked.options, asked.revision, asked.conversation)
            question = asked.question
            if follows:
                recorder.emit(StageChanged(stage="understanding"))
                question = understand(question, tools, given=asked.understood, rewrites=parts.rewrites)
                if self._is_no_question(question, asked.plan, recorder):
                    return
            # Known from now on, for a cancelled answer can be corrected too.
            self._remembered = (recorder.trace, tools.cache)
            method.run(question, asked.plan, asked.origin, tools)
            self._conclude(recorder, method, local, use_web)
        except Cancelled:
            recorder.emit(AnswerReady(status="cancelled", answer="Cancelled."))
        except BaseException as error:  # the consumer waits for `Finished`: whatever happens, it must come
            log_error(error)
            for event in failure(error):
                recorder.emit(event)
        finally:
            parts.release(sources)
            while not parts.notes.empty():
                recorder.emit(WarningRaised(message=parts.notes.get()))
            recorder.finish()

    def _is_no_question(self, question: str, plan: Tree | None, recorder: Recorder) -> bool:
        """Whether there is nothing to plan or to look up; then that is the answer."""
        kind = understands(question)[0] if plan is None and self.settings.features.decline else "question"
        if kind == "question":
            return False
        recorder.emit(conclusion(recorder.trace, judge(recorder.trace, accept=0.0, kind=kind)))
        return True

    def _conclude(self, recorder: Recorder, method: Strategy, local: tuple[str, ...], web: bool) -> None:
        """Judge what was found, and emit it as the whole question's answer."""
        trace, parts = recorder.trace, self.parts
        verdict = judge(
            trace,
            accept=parts.calibration.accept,
            at_hand=lambda: AtHand(web, local, parts.other_indexes(local)),
            kind=planned_kind(trace),
            retrieves=method.uses_sources,
            decline=self.settings.features.decline,
        )
        for node_id, (outcome, reason) in verdict.nodes.items():
            recorder.emit(NodeJudged(node_id=node_id, outcome=outcome, reason=reason))
        recorder.emit(conclusion(trace, verdict))

    def _tools(
        self,
        sources: dict[str, KnowledgeSource],
        recorder: Recorder,
        cancellation: Cancellation,
        options: StrategyOptions | None = None,
        revision: Revision | None = None,
        conversation: Conversation | None = None,
    ) -> Toolbox:
        parts, settings = self.parts, self.settings
        assert parts.backbone is not None
        planner = Planner(
            announced(parts.backbone, "question", recorder.leaves),
            ExampleLibrary.load(paths.examples_file()),
            settings.limits.of_plans(),
            seed=settings.llm.seed,
            style=parts.style,
        )
        earlier = ResultCache()
        if revision is not None and self._remembered is not None and revision.base is self._remembered[0]:
            earlier = self._remembered[1]
        return Toolbox(
            announced(parts.backbone, "question, evidence" if sources else "question", recorder.leaves),
            sources,
            planner,
            recorder,
            cancellation,
            settings,
            style=parts.style,
            options=options,
            calibration=parts.calibration,
            revision=revision,
            earlier=earlier,
            verifies=parts.verifies,
            span_reader=parts.span_reader,
            conversation=conversation,
            ranking=parts.ranking(sources),
        )


def _busy() -> InputError:
    return InputError("another question is being answered", hint="Wait for it, or cancel it.")
