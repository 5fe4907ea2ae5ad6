"""The tools of `react`: pages are opened by title, and words are looked up on the open one."""

from __future__ import annotations

from atomr_local.errors import InputError
from atomr_local.language.answer_key import answer_key
from atomr_local.language.capitalised import names_in
from atomr_local.reasoning.asking.forms import Field, Line, OneOf, WordsOf
from atomr_local.reasoning.pages import OpenPage, PageReader
from atomr_local.strategies.protocol import Toolbox
from atomr_local.strategies.shared.asking_on import AskingOn
from atomr_local.strategies.shared.loop import INPUT, Observed, Tool

_SENTENCES = 5
_TITLES = 5


def needed_pages(tools: Toolbox, strategy: str) -> PageReader:
    """The pages, for a strategy that cannot do without.

    Raises:
        InputError: no source at hand has any.
    """
    if tools.pages is None:
        raise InputError(
            f"the strategy {strategy} needs pages of a text index", hint="Build a text index: `atomr text build`."
        )
    return tools.pages


class PageTools:
    """The tools over pages; the last page that was opened is the open one."""

    def __init__(self, pages: PageReader, asking: AskingOn | None = None) -> None:
        """Make the tools.

        Args:
            asking: what is to be found out; None: the model's own thoughts say so.
        """
        self._pages = pages
        self._asking = asking
        self._open: OpenPage | None = None
        self._like: tuple[str, ...] = ()  # titles like what no page is called, until the question is answered
        self._searched: set[str] = set()

    def at_hand(self) -> tuple[Tool, ...]:
        return (
            Tool("search", self._title, self._search, self._sought),
            Tool("lookup", self._words, self._lookup, self._place),
            Tool("finish", self._answer),
        )

    def _title(self, names: tuple[str, ...]) -> Field | None:
        if self._asking is None:
            return WordsOf(INPUT, names)
        if self._asking.finished:
            return None
        named = tuple(names_in([self._asking.pending]))
        untried = tuple(title for title in (*self._like, *named) if self._sought(title) not in self._searched)
        if self._like and untried:  # no page is called so: a title like it has to do, as it is
            return OneOf(INPUT, untried)
        return WordsOf(INPUT, named or names)

    def _words(self, _names: tuple[str, ...]) -> Field | None:
        finished = self._asking is not None and self._asking.finished
        return Line(INPUT) if self._open is not None and not finished else None

    def _answer(self, _names: tuple[str, ...]) -> Field | None:
        if self._asking is None or (self._asking.finished and not self._asking.answer):
            return Line(INPUT)
        return OneOf(INPUT, (self._asking.answer,)) if self._asking.finished else None

    def _search(self, node_id: int, title: str) -> Observed:
        self._searched.add(self._sought(title))
        page = self._pages.open(node_id, title)
        if page is None:
            like = self._pages.similar(title, _TITLES)
            told = f". Titles like it: {'; '.join(like)}" if like else ""
            self._like = like
            return Observed(f"no page “{title}”{told}", names=like)
        self._open = page
        first = page.first(_SENTENCES)
        if first is None:
            return Observed("this page is empty", page.title)
        if self._asking is not None and self._asking.read(node_id, [first]):
            self._like = ()
        return Observed(first.text, page.title, (first,), (page.title,))

    def _lookup(self, node_id: int, words: str) -> Observed:
        looked = self._open.lookup(words, node_id) if self._open is not None else None
        if looked is None:
            return Observed("no more results")
        if self._asking is not None and self._asking.read(node_id, [looked.sentence]):
            self._like = ()
        text = f"({looked.number} of {looked.of}) {looked.sentence.text}"
        return Observed(text, evidence=(looked.sentence,), more=True)

    def _sought(self, title: str) -> str:
        """For another question, a page that was opened before may tell something else."""
        return f"{answer_key(title)}: {answer_key(self._pending)}"

    def _place(self, words: str) -> str:
        """On another page, or for another question, the same words are another action."""
        page = self._open.title if self._open is not None else ""
        return f"{page}: {words.casefold()}: {answer_key(self._pending)}"

    @property
    def _pending(self) -> str:
        return self._asking.pending if self._asking is not None else ""
