"""Homes, indexes and assistants for the parts: always the same, and with recorded replies."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable, Coroutine, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

from atomr_local import Assistant, __version__
from atomr_local.assistant.model_loading import AdapterSkills
from atomr_local.models.catalog.find import starter_embedder_path, starter_model_path
from atomr_local.reasoning.trace.events import Event, Finished
from atomr_local.settings.schema import load_settings
from atomr_local.system import paths
from frozen_parts.cases import Case, Run
from frozen_parts.replaying import ReplayingBackbone, ReplayingEmbedder, ReplayingSpanReader, Replies, Vectors
from frozen_parts.telling import Masks

if TYPE_CHECKING:
    from atomr_local.indexing.embedding.embedder import Embedder
    from atomr_local.indexing.embedding.span_reader import SpanReader
    from atomr_local.models.protocol import Backbone
    from atomr_local.reasoning.trace.schema import Trace

ROOT = Path(__file__).resolve().parents[2]
SHARED = ROOT.parent / "shared" / "data"
STYLES = ("lean", "full")
SHARED_TEXTS = "shared"  # as "lean", for questions over texts that are not copied into the project
ADAPTER = "smollm2-135m-atomr"


@contextmanager
def home(folder: Path) -> Iterator[Path]:
    """A home of the program, with no settings from elsewhere."""
    before = dict(os.environ)
    for name in [name for name in os.environ if name.startswith("ATOMR_")]:
        del os.environ[name]
    folder.mkdir(parents=True, exist_ok=True)
    os.environ["ATOMR_HOME"] = str(folder)
    try:
        yield folder
    finally:
        os.environ.clear()
        os.environ.update(before)


def masks(run: Run) -> Masks:
    return Masks({"scratch": run.scratch, "root": ROOT, "shared": SHARED})


@dataclass
class Models:
    """The recorded model of one style, the embedder and the span reader.

    Attributes:
        style: "lean": the starter with its adapter; "full": the same model without one; or :data:`SHARED_TEXTS`.
    """

    style: str
    record: Replies
    vectors: Vectors
    backbone: ReplayingBackbone
    embedder: ReplayingEmbedder
    span_reader: ReplayingSpanReader
    _saved: int = 0

    @classmethod
    def of(cls, run: Run, part: str, style: str, vectors: Vectors) -> Models:
        record = Replies.read(run.folder / f"{part}.{style}.replies.jsonl.xz", digested=style == SHARED_TEXTS)
        asks = run.recording
        return cls(
            style,
            record,
            vectors,
            ReplayingBackbone(record, (lambda: _real_backbone(style)) if asks else None),
            ReplayingEmbedder(vectors, _real_embedder if asks else None),
            ReplayingSpanReader(record, _real_span_reader if asks else None),
        )

    @property
    def unknown(self) -> str:
        """What was asked and is not recorded, in words; "" if all is."""
        return self.backbone.unknown or self.embedder.unknown or self.span_reader.unknown or self.backbone.uncounted

    def save(self) -> None:
        """Keep what was asked of the real ones since the last time, so that a recording can be stopped."""
        if self.backbone.asked != self._saved:
            self.record.write(all_of_them=True)
            self._saved = self.backbone.asked
        self.vectors.write()

    def forget(self) -> None:
        """What was unknown so far is told already."""
        self.backbone.unknown = self.backbone.uncounted = self.embedder.unknown = self.span_reader.unknown = ""

    def assistant(self, **changed: Any) -> Assistant:
        """An assistant of these models, one call at a time; `changed` are its settings."""
        llm = {"parallel": 1} | dict(changed.pop("llm", {}))
        assistant = Assistant(load_settings(llm=llm, **changed), self.backbone)
        parts = assistant.parts
        # The card that the replies were recorded with: what another adapter is sure of is no other behaviour.
        adapter = ROOT / "tests" / "frozen" / f"{ADAPTER}.gguf"
        learnt = AdapterSkills.of((Path("starter"), adapter)) if self.style != "full" else AdapterSkills()
        parts.skills = learnt
        parts._embedder = self.embedder
        parts._load_span_reader = self._give_span_reader(assistant)  # type: ignore[method-assign]
        return assistant

    def _give_span_reader(self, assistant: Assistant) -> Callable[[], None]:
        def give() -> None:
            assistant.parts._span_reader_tried = True
            assistant.parts.span_reader = self.span_reader  # type: ignore[assignment]

        return give


def _real_backbone(style: str) -> Backbone:
    from atomr_local.assistant.model_loading import load_model, model_files
    from atomr_local.system.cancellation import Cancellation

    settings = load_settings(adapter="none" if style == "full" else "auto", llm={"parallel": 1})
    files = model_files(settings)
    assert files is not None
    return load_model(settings, files, lambda _stage: None, lambda _note: None, Cancellation())


def _real_embedder() -> Embedder:
    from atomr_local.indexing.embedding.embedder import SentenceEmbedder

    return SentenceEmbedder(starter_embedder_path())


def _real_span_reader() -> SpanReader:
    from atomr_local.indexing.embedding.span_reader import SpanReader

    return SpanReader(starter_embedder_path(), paths.span_reader_file())


@contextmanager
def models(run: Run, part: str, styles: Sequence[str] = STYLES) -> Iterator[dict[str, Models]]:
    """The models of each style; what was recorded of them is kept at the end."""
    vectors = Vectors(run.folder / "vectors.jsonl.xz")
    made = {style: Models.of(run, part, style, vectors) for style in styles}
    try:
        yield made
    except BaseException:
        if run.recording:
            for one in made.values():
                one.record.write(all_of_them=True)
            vectors.write()
        raise
    finally:
        for one in made.values():
            one.backbone.free()
    if run.recording:
        for one in made.values():
            one.record.write()
        vectors.write()


@dataclass(frozen=True)
class Answered:
    """A question's events, the last of which holds the trace."""

    events: tuple[Event, ...]

    @property
    def trace(self) -> Trace:
        [trace] = [event.trace for event in self.events if isinstance(event, Finished)]
        return trace


def ask(assistant: Assistant, question: str, **options: Any) -> Answered:
    return Answered(tuple(assistant.ask(question, **options)))


def case(name: str, lines: Callable[[], Sequence[str]], used: Models) -> Case:
    """The case, or the first thing that it asked for and that is not recorded."""
    used.forget()
    try:
        told = tuple(lines())
    except Exception as error:  # whatever happens in one case, the others are compared too
        if used.unknown:
            return Case(name, (), used.unknown)
        return Case(name, (), f"{type(error).__name__}: {error}")
    return Case(name, told, used.unknown)


def is_starter_here() -> str:
    """Why the starter's parts cannot be used, or ""."""
    from atomr_local.errors import AtomrError

    try:
        starter_embedder_path()
        starter_model_path()
    except AtomrError as error:
        return error.message
    return ""


def settings_of(options: Mapping[str, Any]) -> str:
    """Changed settings in a few words, for the name of a case."""
    return ", ".join(
        f"{name}.{key}={inner}" if isinstance(value, Mapping) else f"{name}={value}"
        for name, value in options.items()
        for key, inner in (value.items() if isinstance(value, Mapping) else [("", value)])
    )


def cases_of_extra(
    run: Run, extra: str, packages: Sequence[str], make: Callable[[Run, Masks], Coroutine[None, None, list[Case]]]
) -> Iterator[Case]:
    """The cases of a server that needs packages of an extra, in a home of their own; none where one is missing."""
    if any(find_spec(name) is None for name in packages):
        run.skipped[""] = f"the extra {extra} is not installed"
        return
    hidden = Masks({"scratch": run.scratch, "root": ROOT}, {"version": __version__})
    with home(run.scratch / "home"):
        yield from asyncio.run(make(run, hidden))
