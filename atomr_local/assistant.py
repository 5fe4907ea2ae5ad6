"""The composition root: settings → backbone, sources, planner, executor. The only place that knows concrete classes."""

from __future__ import annotations

import queue
import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TYPE_CHECKING, Any

from atomr_local import paths
from atomr_local.backbone.templates import Style
from atomr_local.cancellation import Cancellation
from atomr_local.errors import AtomrError, Cancelled, InputError
from atomr_local.planning.examples import ExampleLibrary
from atomr_local.planning.planner import Planner
from atomr_local.reasoning.events import AnswerReady, Event, Finished, PlanReady, StageChanged, WarningRaised
from atomr_local.reasoning.recorder import Recorder
from atomr_local.reasoning.results import Result
from atomr_local.reasoning.rivals import Calibration
from atomr_local.reasoning.trace import Basis, PlanOrigin, Status, Trace
from atomr_local.sanitize import sanitize_line
from atomr_local.settings import Settings, load_settings
from atomr_local.sources.protocol import KnowledgeSource, SourceName
from atomr_local.strategies.atomr import make_plan
from atomr_local.strategies.protocol import Strategy, Toolbox
from atomr_local.strategies.registry import find_strategy
from atomr_local.tree.nodes import Tree
from atomr_local.tree.validation import Limits

if TYPE_CHECKING:
    from atomr_local.backbone.protocol import Backbone
    from atomr_local.indexing.embedding import Embedder

_LONGEST_QUESTION = 2000
_Stage = Callable[[str], None]


class Assistant:
    """Answers questions, one at a time. Opening is cheap; model and indexes load on first need and stay.

    Use as a context manager, or call :meth:`close`.
    """

    def __init__(self, settings: Settings, backbone: Backbone | None = None) -> None:
        self.settings = settings
        self.last_trace: Trace | None = None
        self._backbone = backbone
        self._sources: dict[SourceName, KnowledgeSource] = {}
        self._index_names = {"text": "", "graph": ""}
        self._style: Style = "full"
        self._calibration = Calibration()
        self._embedder: Embedder | None = None
        self._loading = threading.Lock()
        self._asking = threading.Lock()
        self._cancellation = Cancellation()
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
    def web_enabled(self) -> bool:
        return self._web

    def set_web(self, enabled: bool) -> None:
        """Allow or forbid web search from the next retrieval on; not written to the settings file."""
        self._web = enabled

    def close(self) -> None:
        """Cancel what runs and free model and indexes."""
        self.cancel()
        with self._loading:
            for source in self._sources.values():
                source.close()
            self._sources.clear()
            if self._backbone is not None:
                self._backbone.close()
                self._backbone = None

    def cancel(self) -> None:
        """Stop the running question, from any thread; it ends with status "cancelled"."""
        self._cancellation.cancel()

    def preload(self, on_stage: _Stage | None = None) -> None:
        """Load the model and the settings' local sources, side by side; returns when both are ready.

        Raises:
            AtomrError: a part cannot be loaded.
        """
        self._load(self.settings.sources, True, on_stage or _quiet)

    def plan(self, question: str) -> PlanReady:
        """Decompose the question without answering it.

        Raises:
            InputError: the question is empty or too long.
            ModelError: the model cannot be used.
        """
        question = _checked(question)
        self._load((), True, _quiet)
        recorder = Recorder(question, "atomr", self._describe((), False), _ignore)
        return make_plan(question, self._tools({}, recorder))

    def ask(
        self,
        question: str,
        *,
        plan: Tree | None = None,
        plan_origin: PlanOrigin = "user",
        strategy: str | None = None,
        sources: Sequence[str] | None = None,
        web: bool | None = None,
    ) -> Iterator[Event]:
        """Answer the question; the last event is `Finished`, which holds the trace.

        The work runs on a thread of its own. Leaving the iterator early cancels it.

        Args:
            plan: execute this plan instead of making one.
            sources: local sources to use; default: the settings'.
            web: whether web search may be used; default: the switch.

        Raises:
            InputError: the question is empty or too long.
            SettingsError: there is no such strategy or source.
        """
        question = _checked(question)
        method = find_strategy(strategy or self.settings.strategy)
        local = tuple(self.settings.sources if sources is None else load_settings(sources=tuple(sources)).sources)
        use_web = self._web if web is None else web
        if self._asking.locked():
            raise _busy()
        cancellation = self._cancellation = Cancellation()
        events: queue.SimpleQueue[Event] = queue.SimpleQueue()
        worker = threading.Thread(
            target=self._answer,
            args=(question, method, plan, plan_origin, local, use_web, cancellation, events.put),
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
            self._asking.release()

    def _answer(
        self,
        question: str,
        method: Strategy,
        plan: Tree | None,
        origin: PlanOrigin,
        local: tuple[str, ...],
        use_web: bool,
        cancellation: Cancellation,
        sink: Callable[[Event], None],
    ) -> None:
        recorder = Recorder(question, method.name, self._describe(local, use_web), sink)
        try:
            self._load(local if method.uses_sources else (), True, lambda stage: sink(StageChanged(stage=stage)))
            cancellation.check()
            recorder.trace.settings.update(self._describe(local, use_web))
            sources = self._chosen(local, use_web) if method.uses_sources else {}
            result = method.run(question, plan, origin, self._tools(sources, recorder, cancellation))
            recorder.emit(_conclusion(result))
        except Cancelled:
            recorder.emit(
                AnswerReady(status="cancelled", answer="Cancelled.", answers=(), confidence=None, basis="evidence")
            )
        except AtomrError as error:
            _failed(recorder, f"{error.title}: {error.message}" + (f"\n→ {error.hint}" if error.hint else ""))
        except Exception as error:  # the consumer waits for `Finished`: whatever happens, it must come
            _failed(recorder, f"Internal error: {type(error).__name__}: {error}")
        finally:
            recorder.finish()

    def _describe(self, local: Sequence[str], web: bool) -> dict[str, Any]:
        """The trace's settings object."""
        settings = self.settings
        return {
            "model": self._backbone.info.name if self._backbone is not None else settings.model,
            "adapter": self._backbone.info.adapter if self._backbone is not None else None,
            "text_index": self._index_names["text"] if "text" in local else None,
            "graph_index": self._index_names["graph"] if "graph" in local else None,
            "sources": list(local),
            "web": web,
            "top_k": settings.top_k,
            "seed": settings.llm.seed,
        }

    def _tools(
        self,
        sources: dict[SourceName, KnowledgeSource],
        recorder: Recorder,
        cancellation: Cancellation | None = None,
    ) -> Toolbox:
        assert self._backbone is not None
        limits = self.settings.limits
        planner = Planner(
            self._backbone,
            ExampleLibrary.load(paths.examples_file()),
            Limits(nodes=limits.nodes, depth=limits.depth, fan_out=limits.fan_out),
            seed=self.settings.llm.seed,
            style=self._style,
        )
        return Toolbox(
            self._backbone,
            sources,
            planner,
            recorder,
            cancellation or Cancellation(),
            self.settings,
            self._style,
            self._calibration,
        )

    def _chosen(self, local: Sequence[str], web: bool) -> dict[SourceName, KnowledgeSource]:
        chosen = {SourceName(name): self._sources[SourceName(name)] for name in local}
        if web:
            from atomr_local.sources.web import WebSource

            chosen[SourceName.WEB] = WebSource(
                enabled=True, timeout=self.settings.web.timeout, region=self.settings.web.region
            )
        return chosen

    def _load(self, local: Sequence[str], model: bool, stage: _Stage) -> None:
        """Load what is wanted and not there yet: the model on one thread, each source on another."""
        with self._loading:
            from atomr_local.backbone.threads import prepare_threads

            prepare_threads()
            wanted = [SourceName(name) for name in local if SourceName(name) not in self._sources]
            with ThreadPoolExecutor(max_workers=3, thread_name_prefix="atomr-load") as pool:
                jobs = []
                if model and self._backbone is None:
                    stage("loading model")
                    jobs.append(pool.submit(self._load_backbone))
                if wanted:
                    stage("opening indexes")
                    jobs.append(pool.submit(self._load_sources, wanted, stage))
                for job in jobs:
                    job.result()

    def _load_backbone(self) -> None:
        settings = self.settings
        if settings.endpoint.url:
            from atomr_local.backbone.openai import OpenAIBackbone

            endpoint = settings.endpoint
            self._backbone = OpenAIBackbone(endpoint.url, endpoint.model, endpoint.api_key, endpoint.timeout)
            return
        from atomr_local.backbone.llama import LlamaBackbone
        from atomr_local.catalog.find import adapter_card, find_adapter, find_model

        path = find_model(settings.model)
        adapter = find_adapter(settings.adapter, path)
        card = adapter_card(adapter) if adapter is not None else {}
        self._style = "lean" if card.get("prompts") == "lean" else "full"
        self._calibration = Calibration.from_card(card)
        self._backbone = LlamaBackbone.load(
            path,
            adapter,
            context_tokens=settings.llm.context_tokens,
            threads=settings.llm.threads,
            batch_threads=settings.llm.batch_threads,
            drafting=settings.llm.drafting,
            reuse=settings.llm.prefix_cache,
            parallel=settings.llm.parallel,
            storage=None if settings.llm.weights == "file" else settings.llm.weights,
            cache=paths.cache_dir(),
        )

    def _load_sources(self, wanted: Sequence[SourceName], stage: _Stage) -> None:
        for name in wanted:
            if name is SourceName.TEXT:
                self._sources[name] = self._open_text(stage)
            else:
                self._sources[name] = self._open_graph(stage)

    def _open_text(self, stage: _Stage) -> KnowledgeSource:
        from atomr_local.sources.text import TextSource

        directory = self._index("text", self.settings.text_index, stage)
        return TextSource.open(directory, self._shared_embedder(), page_first=self.settings.means.page_first)

    def _open_graph(self, stage: _Stage) -> KnowledgeSource:
        from atomr_local.sources.graph import GraphSource

        return GraphSource.open(self._index("graph", self.settings.graph_index, stage), self._shared_embedder)

    def _index(self, kind: Any, configured: str, stage: _Stage) -> Path:
        from atomr_local.indexing.starter import ensure_index
        from atomr_local.indexing.store import index_path, resolve

        name = resolve(kind, configured)
        if not index_path(kind, name).exists():
            stage(f"preparing the {name} {kind} index, once")
        directory = ensure_index(kind, name, self._shared_embedder)
        self._index_names[kind] = name
        return directory

    def _shared_embedder(self) -> Embedder:
        if self._embedder is None:
            from atomr_local.catalog.starter import find_embedder
            from atomr_local.indexing.embedding import SentenceEmbedder

            self._embedder = SentenceEmbedder(find_embedder(self.settings.embedder))
        return self._embedder


def _quiet(_stage: str) -> None:
    """No one watches the stages."""


def _ignore(_event: Event) -> None:
    """No one watches the events."""


def _busy() -> InputError:
    return InputError("another question is being answered", hint="Wait for it, or cancel it.")


def _checked(question: str) -> str:
    question = sanitize_line(question)
    if not question:
        raise InputError(
            "the question is empty", hint='Ask something, such as: atomr ask "What is the capital of Japan?"'
        )
    if len(question) > _LONGEST_QUESTION:
        raise InputError(
            f"the question has {len(question)} characters, more than {_LONGEST_QUESTION}", hint="Shorten it."
        )
    return question


def _conclusion(result: Result) -> AnswerReady:
    """The root's result as the whole question's answer, in a sentence."""
    basis: Basis = "model" if result.method == "closed_book" else "evidence"
    status: Status = "answered" if result.values else "unknown"
    return AnswerReady(
        status=status, answer=_sentence(result, basis), answers=result.texts, confidence=result.confidence, basis=basis
    )


def _sentence(result: Result, basis: Basis) -> str:
    if not result.values:
        return "Unknown: neither the sources nor the model gave an answer."
    *others, last = result.texts
    listed = f"{', '.join(others)} and {last}" if others else last
    if basis == "model":
        return f"From the model's own knowledge, not from evidence: {listed}."
    if listed.casefold() in {"yes", "no"}:
        return f"{listed.capitalize()}."
    return f"The answer is {listed}." if not others else f"The answers are {listed}."


def _failed(recorder: Recorder, message: str) -> None:
    recorder.emit(WarningRaised(message=message))
    recorder.emit(
        AnswerReady(
            status="failed",
            answer="The question could not be answered.",
            answers=(),
            confidence=None,
            basis="evidence",
        )
    )
