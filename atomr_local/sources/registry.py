"""The registry of sources: ours, and those of other packages (entry points)."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from atomr_local.errors import AtomrError, Cancelled, SettingsError, SourceError
from atomr_local.sources.protocol import Evidence, KnowledgeSource, Request, Retrieval, SourceName
from atomr_local.sources.web import SEARCH_HOST
from atomr_local.system.cancellation import Cancellation
from atomr_local.system.plugins import SOURCE_GROUP, find, load_all, offered

if TYPE_CHECKING:
    from atomr_local.indexing.embedding.embedder import Embedder
    from atomr_local.indexing.store import IndexKind
    from atomr_local.settings.schema import Settings
    from atomr_local.sources.reranking import Reranker
    from atomr_local.sources.several_texts import SeveralTexts
    from atomr_local.sources.text import TextSource


@dataclass(frozen=True, slots=True)
class SourceTools:
    """What a source may need when it is opened.

    Attributes:
        settings: the settings that hold.
        index: gives the directory of the text or graph index in use. It builds the starter if that is not there yet.
        embedder: gives the embedder that all sources share.
        notify: tells the user something about the source; it becomes a warning of the question.
        leaves: reports what is about to be sent to another machine: "web query", the host, the query.
        reranker: gives the cross-encoder of the settings, or None if none is set.
        texts: gives the directories of all text indexes in use; `index` gives the first of them.
    """

    settings: Settings
    index: Callable[[IndexKind], Path]
    embedder: Callable[[], Embedder]
    notify: Callable[[str], None]
    leaves: Callable[[str, str, str], None] = lambda _what, _to, _query: None
    reranker: Callable[[], Reranker | None] = lambda: None
    texts: Callable[[], Sequence[Path]] | None = None


@contextmanager
def _foreign_errors(told: str, hint: str = "", kept: tuple[type[AtomrError], ...] = (AtomrError,)) -> Iterator[None]:
    """Turns whatever code of another package raises into an error of the source; `kept`: errors that stay."""
    try:
        yield
    except kept:
        raise
    except Exception as error:
        raise SourceError(f"{told}: {type(error).__name__}: {error}", hint=hint) from error


def _nothing_needed(_settings: Settings) -> str:
    return "ready"


@dataclass(frozen=True, slots=True)
class SourceType:
    """A source that can be asked.

    Attributes:
        label: its name on the screen, one short word.
        open: opens it. A local source is opened once and kept; one that uses the network is opened for each question.
        network: the host that it sends queries to; empty if it never uses the network. A source with a host is asked
            only while web search is on.
        ready: says in a few words what the source would use, such as the name of an index. It raises an AtomrError if
            the source cannot be used.
        rests_on: the settings that it was opened with, by dotted key. If one changes, the source is opened again.
        key: the key that turns it on and off in the terminal UI; a source of another package has a switch and a command
            in the palette.
        tooltip: what the key does.
    """

    label: str
    open: Callable[[SourceTools], KnowledgeSource]
    network: str = ""
    ready: Callable[[Settings], str] = _nothing_needed
    rests_on: tuple[str, ...] = ()
    key: str = ""
    tooltip: str = ""

    def readiness(self, settings: Settings) -> str:
        """What :attr:`ready` says.

        Raises:
            AtomrError: the source cannot be used.
        """
        with _foreign_errors("it failed"):
            return self.ready(settings)


def _open_text(tools: SourceTools) -> KnowledgeSource:
    reranker = tools.reranker()
    directories = tools.texts() if tools.texts is not None else [tools.index("text")]
    page_first = tools.settings.features.page_first
    return open_texts(directories, tools.embedder(), page_first=page_first, reranker=reranker)


def open_texts(
    directories: Sequence[Path], embedder: Embedder, *, page_first: bool = True, reranker: Reranker | None = None
) -> TextSource | SeveralTexts:
    """The text indexes in these directories as one source.

    Raises:
        KnowledgeIndexError: one of them is not whole, or was built with another embedder.
    """
    from atomr_local.sources.several_texts import SeveralTexts
    from atomr_local.sources.text import TextSource

    if len(directories) == 1:
        return TextSource(directories[0], embedder, page_first=page_first, reranker=reranker)
    opened: dict[str, TextSource] = {}
    try:
        for directory in directories:
            opened[directory.name] = TextSource(directory, embedder, page_first=page_first)
    except AtomrError:
        for source in opened.values():
            source.close()
        raise
    return SeveralTexts(opened, reranker=reranker)


def _open_graph(tools: SourceTools) -> KnowledgeSource:
    from atomr_local.sources.graph import GraphSource

    return GraphSource.open(tools.index("graph"), tools.embedder, tools.notify)


def _index_name(kind: IndexKind, configured: str) -> str:
    from atomr_local.indexing.store import resolve

    return resolve(kind, configured)


def _open_web(tools: SourceTools) -> KnowledgeSource:
    from atomr_local.sources.web import WebSource

    web = tools.settings.web
    use_proxy = tools.settings.network.use_proxy
    return WebSource(enabled=True, timeout=web.timeout, region=web.region, use_proxy=use_proxy, leaves=tools.leaves)


SOURCES: dict[str, SourceType] = {
    SourceName.TEXT: SourceType(
        "Text",
        _open_text,
        ready=lambda settings: _index_name("text", settings.text_index),
        rests_on=("text_index", "features.page_first", "retrieval.reranker", "embedder"),
        key="f8",
        tooltip="Turn the text index on or off",
    ),
    SourceName.GRAPH: SourceType(
        "Graph",
        _open_graph,
        ready=lambda settings: _index_name("graph", settings.graph_index),
        rests_on=("graph_index", "embedder"),
        key="f9",
        tooltip="Turn the graph index on or off",
    ),
    SourceName.WEB: SourceType(
        "Web", _open_web, SEARCH_HOST, lambda _: "DuckDuckGo", key="f2", tooltip="Turn web search on or off"
    ),
}


def pages_missing(settings: Settings) -> str:
    """Why no text index in use can open pages; empty if one can, or is yet to be made.

    Raises:
        AtomrError: it is not clear which index is used.
    """
    from atomr_local.indexing.store import index_names, index_path, resolve
    from atomr_local.indexing.text_index.catalog import CATALOG
    from atomr_local.sources.text_pages import NO_CATALOG

    directories = [index_path("text", name) for name in index_names(resolve("text", settings.text_index))]
    none = all(directory.exists() and not (directory / CATALOG).is_file() for directory in directories)
    return NO_CATALOG if none else ""


def facts_missing(settings: Settings) -> str:
    """Why the facts of the graph index in use cannot be searched as text, with what to do; empty if they can, or if the
    index is yet to be made.

    Raises:
        AtomrError: it is not clear which index is used, or it is not whole.
    """
    from atomr_local.indexing.graph_index.linearised import no_facts
    from atomr_local.indexing.store import index_path, read_manifest, resolve

    directory = index_path("graph", resolve("graph", settings.graph_index))
    return no_facts(directory, read_manifest(directory)) if directory.exists() else ""


def find_source(name: str) -> SourceType:
    """The source of this name.

    Raises:
        SettingsError: there is none, or the package that offers it cannot be loaded.
    """
    if (found := find(SOURCE_GROUP, SOURCES, name, "source", SourceType)) is not None:
        return found
    raise SettingsError(f"sources: there is no source named {name!r}", hint=f"Known: {', '.join(switched_names())}.")


def all_sources() -> dict[str, SourceType]:
    """Every source that can be used, ours first. One that cannot be loaded is logged and left out."""
    return load_all(SOURCE_GROUP, SOURCES, "source", SourceType)


def switched_names() -> list[str]:
    """The names that the setting `sources` may hold: all but the web, which has a setting of its own."""
    return [name for name in (*SOURCES, *offered(SOURCE_GROUP, SOURCES)) if name != SourceName.WEB]


def permitted(names: Iterable[str], *, web: bool) -> tuple[str, ...]:
    """Those of the named sources that a question may ask, and the web if it is on; see :attr:`SourceType.network`."""

    def local(name: str) -> bool:
        try:
            return not find_source(name).network
        except SettingsError:
            return True  # told where it is opened

    return (*names, SourceName.WEB) if web else tuple(name for name in names if local(name))


def open_source(name: str, tools: SourceTools) -> KnowledgeSource:
    """Open the source of this name.

    Raises:
        AtomrError: it is not there, or cannot be opened.
    """
    found = find_source(name)
    if name in SOURCES:
        return found.open(tools)
    hint = "Correct or update its package, or choose other sources."
    with _foreign_errors(f"the source {name!r} cannot be opened", hint):
        return _GuardedSource(name, found, tools)


class _GuardedSource:
    """A source of another package: its queries are reported, its errors are of ours, and its evidence is checked."""

    def __init__(self, name: str, kind: SourceType, tools: SourceTools) -> None:
        self._name = name
        self._network = kind.network
        self._leaves = tools.leaves
        self._source = kind.open(tools)

    @property
    def name(self) -> str:
        return self._name

    def retrieve(self, request: Request, cancellation: Cancellation) -> Retrieval:
        """See :class:`KnowledgeSource`. Only evidence and notes about limits are taken."""
        if self._network:
            self._leaves("web query", self._network, request.query)
        with _foreign_errors(f"the source {self._name!r} failed", kept=(Cancelled, SourceError)):
            found = self._source.retrieve(request, cancellation)
            evidence = tuple(self._checked(item) for item in found.evidence[: request.top_k])
            return Retrieval(evidence, dropped=tuple(map(str, found.dropped)))

    def close(self) -> None:
        self._source.close()

    def _checked(self, item: Evidence) -> Evidence:
        if not isinstance(item.title, str) or not isinstance(item.text, str) or not math.isfinite(item.score):
            raise TypeError("evidence needs a title and a text, and a finite score")
        locator = json.loads(json.dumps(dict(item.locator), allow_nan=False))
        return replace(item, source=self._name, query=str(item.query), locator=locator, id="")
