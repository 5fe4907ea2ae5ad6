"""Opens pages for a strategy, and puts what is read of them into the trace."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import islice

from atomr_local.language.names import base_key, name_key, split_qualifier, words
from atomr_local.reasoning.source_access import SourceAccess, SourcesAtHand
from atomr_local.reasoning.trace.events import EvidenceFound, RetrievalStarted
from atomr_local.sanitize import sanitize_line
from atomr_local.sources.protocol import Evidence, Page, Pages, Sentence

# How a page that only lists what its name may mean goes on after the name, by key: "Mercury may also refer to".
_MEANINGS = re.compile(
    r" (?:may|can|might|could)(?: also)? (?:refer to|mean|stand for)\b"
    r"|(?: \w+){0,2} (?:commonly|often|usually) refers to\b"
)
_DISAMBIGUATION = "disambiguation"
# Of a page of meanings: what is followed, once, never from one such page to the next.
_MOST_FOLLOWED = 5


def page_reader(at_hand: SourcesAtHand) -> PageReader | None:
    """A reader of the first source that can open pages; None if none can."""
    access: SourceAccess[Pages] | None = at_hand.first(
        lambda one: one if isinstance(one, Pages) and not one.pages_missing else None
    )
    return PageReader(access) if access is not None else None


@dataclass(frozen=True, slots=True)
class Looked:
    """A sentence that holds the words: the `number`-th `of` those of its page."""

    sentence: Evidence
    number: int
    of: int


class OpenPage:
    """A page that a step has opened. What is read of it counts as found in that step, or in the one that is named.

    Attributes:
        title: the page's own, sanitised; not the redirect's.
        qid: the Wikidata id of what it is about; empty if it is not known.
        meanings: whether it only lists what its name may mean.
    """

    def __init__(self, access: SourceAccess[Pages], page: Page, node_id: int) -> None:
        self.title = sanitize_line(page.title)
        self.qid = sanitize_line(page.qid)
        self.meanings = is_of_meanings(page)
        self._access = access
        self._page = page
        self._node_id = node_id
        self._words = ""
        self._found: list[Sentence] = []
        self._next = 0

    def __len__(self) -> int:
        """How many sentences it has."""
        return len(self._page.sentences)

    def first(self, number: int, node_id: int | None = None) -> Evidence | None:
        """The first sentences, as one piece of evidence; None if the page is empty.

        Args:
            node_id: the step that reads them, if not the one that opened the page.
        """
        read = self._page.sentences[:number]
        return self._cited(read, self.title, node_id) if read else None

    def passages(self, most: int, node_id: int | None = None) -> list[Evidence]:
        """Its passages in order, the first so many, each a piece of evidence."""
        by_passage: dict[str, list[Sentence]] = {}
        for sentence in self._page.sentences:
            by_passage.setdefault(sentence.passage, []).append(sentence)
        return [self._cited(read, self.title, node_id) for read in list(by_passage.values())[:most]]

    def lookup(self, words: str, node_id: int | None = None) -> Looked | None:
        """The next sentence that holds these words; None if there are no more. Other words begin anew.

        Capitals and punctuation do not matter; a word may go on ("discover" is in "discovered"). If no sentence has the
        words beside each other, those that have all of them count.
        """
        self._access.cancellation.check()
        key = _key(words)
        if key != self._words:
            self._words, self._next = key, 0
            self._found = _holding(self._page.sentences, key)
        if self._next >= len(self._found):
            return None
        sentence = self._found[self._next]
        self._next += 1
        return Looked(self._cited((sentence,), sanitize_line(words), node_id), self._next, len(self._found))

    def _cited(self, read: Sequence[Sentence], query: str, node_id: int | None) -> Evidence:
        """The sentences with their place, taken into the trace."""
        passages = list(dict.fromkeys(sentence.passage for sentence in read))
        locator: dict[str, object] = {"passage": passages[0], "span": [read[0].start, read[-1].end]}
        if len(passages) > 1:
            locator["passages"] = passages
        if self._page.index:
            locator["index"] = self._page.index
        text = " ".join(sentence.text for sentence in read)
        source, recorder = self._access.source, self._access.recorder
        found = recorder.take_in([Evidence(source, self.title, text, 1.0, query, locator)])
        step = self._node_id if node_id is None else node_id
        recorder.emit(EvidenceFound(node_id=step, source=source, evidence=found))
        return found[0]


class PageReader:
    """Opens pages of one source, by title or redirect.

    Attributes:
        source: the name of the source.
        access: the way to it.
    """

    def __init__(self, access: SourceAccess[Pages]) -> None:
        self.source = access.source
        self.access = access
        self._written: dict[str, str] = {}  # titles that the sanitiser changed, as the source has them

    def open(self, node_id: int, title: str) -> OpenPage | None:
        """The page with this title; None if there is none, or the step may not use the source.

        From a page that only lists what its name may mean, the first that it lists and that is there is opened instead.
        That is done once: a list of meanings that leads to others stays as it is.

        Raises:
            SourceError: the source failed.
            Cancelled: the question was cancelled.
        """
        access = self.access
        access.cancellation.check()
        if not access.may_use(node_id):
            return None
        access.recorder.emit(RetrievalStarted(node_id=node_id, source=self.source, query=title))
        page = None
        try:
            page = access.offer.page(self._written.get(title, title))
            if page is not None and is_of_meanings(page):
                page = self._meant(page) or page
        finally:
            if page is None:  # the retrieval has ended, though nothing is there
                access.recorder.emit(EvidenceFound(node_id=node_id, source=self.source, evidence=()))
        access.cancellation.check()
        return OpenPage(access, page, node_id) if page is not None else None

    def similar(self, title: str, number: int) -> tuple[str, ...]:
        """Titles like this one, sanitised; each can be opened as it is.

        Raises:
            SourceError: the source failed.
            Cancelled: the question was cancelled.
        """
        self.access.cancellation.check()
        shown: dict[str, str] = {}
        for found in self.access.offer.similar_titles(self._written.get(title, title), number):
            if line := sanitize_line(found):
                shown.setdefault(line, found)
        self._written.update((line, found) for line, found in shown.items() if line != found)
        return tuple(shown)

    def _meant(self, page: Page) -> Page | None:
        """The first meaning that has a page of its own, which is no list of meanings again."""
        like = self.access.offer.similar_titles(page.title, _MOST_FOLLOWED)
        base = base_key(page.title)
        listed = " ".join(f" {name_key(sentence.text)} " for sentence in page.sentences)
        places = {title: listed.find(f" {name_key(title)} ") for title in like}
        # Those that it lists, in its order; then those that bear its name.
        order = sorted((place, title) for title, place in places.items() if place >= 0)
        titles = [title for _, title in order] + [t for t in like if places[t] < 0 and base_key(t) == base]
        for title in islice(titles, _MOST_FOLLOWED):
            self.access.cancellation.check()
            meant = self.access.offer.page(title)
            if meant is not None and not is_of_meanings(meant):
                return meant
        return None


def is_of_meanings(page: Page) -> bool:
    """Whether the page only lists what its name may mean."""
    if name_key(split_qualifier(page.title)[1]) == _DISAMBIGUATION:
        return True
    opening = base_key(page.sentences[0].text) if page.sentences else ""
    names = {base_key(page.title), name_key(page.title)} - {""}
    return any(opening.startswith(name) and _MEANINGS.match(opening, len(name)) is not None for name in names)


def _key(text: str) -> str:
    return " ".join(words(text))


def _holding(sentences: Sequence[Sentence], key: str) -> list[Sentence]:
    """The sentences that hold the words beside each other; where there are none, those that hold all of them."""
    if not key:
        return []
    keys = [(f" {_key(sentence.text)}", sentence) for sentence in sentences]
    beside = [sentence for text, sentence in keys if f" {key}" in text]
    return beside or [sentence for text, sentence in keys if all(f" {word}" in text for word in key.split())]
