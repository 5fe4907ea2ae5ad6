"""What is in a part of one text index: the articles that a path, a tag or a date leaves."""

from __future__ import annotations

import json
import posixpath
import re
import unicodedata
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from datetime import timedelta
from email.utils import parsedate
from fnmatch import fnmatchcase
from functools import cache, cached_property
from pathlib import PurePosixPath
from typing import Any, Protocol, runtime_checkable

from rapidfuzz import fuzz, process

from atomr_local.errors import InputError
from atomr_local.indexing.text_index.catalog import METADATA, CatalogReader
from atomr_local.language.literals import parse_date
from atomr_local.language.names import name_key
from atomr_local.language.words import any_of, document_words, english, without_suffix
from atomr_local.sources.document_places import DocumentPlaces, PlacedArticle
from atomr_local.sources.protocol import (
    Collection,
    Day,
    HasCollection,
    KnowledgeSource,
    Page,
    Pages,
    Request,
    Retrieval,
    Within,
)
from atomr_local.system.cancellation import Cancellation
from atomr_local.system.sanitize import sanitize_line

# A part of a text index that a question is asked in: what says so, read; and a text source that keeps to it.

_MOST = 50
_LONGEST = 500
_HINT = "Give a path, a pattern such as 'hr/*.md', a #tag, after:2024-05 or before:2024-05-31."
_TYPED = re.compile(r'"([^"]*)"|(\S+)')


def parse_within(given: Sequence[str]) -> Within | None:
    """The part that the conditions name: paths, patterns, #tags, after:DATE, before:DATE; None if there are none.

    Raises:
        InputError: one cannot be read, or there are too many.
    """
    texts = [sanitize_line(text) for text in ([given] if isinstance(given, str) else given)]
    if len(texts) > _MOST or any(not 0 < len(text) <= _LONGEST for text in texts):
        raise InputError(
            f"a part of an index is named by 1 to {_LONGEST} characters, {_MOST} times at most", hint=_HINT
        )
    paths, tags, after, before = list[str](), list[str](), list[Day](), list[Day]()
    for text in texts:
        kind, colon, day = text.partition(":")
        if colon and kind.casefold() in ("after", "before"):
            (after if kind.casefold() == "after" else before).append(_day(text, day))
        elif text.startswith("#"):
            tags.append(tag_key(text))
        else:
            paths.append(path_key(text))
    if not texts:
        return None
    last, first = max(after, default=None), min(before, default=None)
    return Within(tuple(texts), tuple(paths), tuple(tags), last, first)


def typed_conditions(line: str) -> list[str]:
    """The conditions in a line that a person typed; one with blanks in it stands in double quotes."""
    return [quoted or bare for quoted, bare in _TYPED.findall(line) if quoted or bare]


def typed_line(conditions: Sequence[str]) -> str:
    """The conditions as :func:`typed_conditions` reads them."""
    return " ".join(f'"{text}"' if " " in text else text for text in conditions)


def tag_key(text: str) -> str:
    """A tag so that its spellings are the same: "#Policy", "policy"."""
    return unicodedata.normalize("NFC", text).strip().strip("#").strip("/").casefold()


def path_key(text: str) -> str:
    """A path so that its spellings are the same: "./hr/", "hr"."""
    return posixpath.normpath(unicodedata.normalize("NFC", text))


def _day(text: str, day: str) -> Day:
    date = parse_date(day)
    if date is None:
        raise InputError(f"{text!r} has no date", hint="Give one as after:2024, after:2024-05 or after:2024-05-31.")
    return date.first


@runtime_checkable
class HasParts(KnowledgeSource, Pages, Protocol):
    """A text source that a part can be asked of."""

    def part_missing(self, within: Within) -> list[str]:
        """What could be meant where nothing is in the part: sentences. Untrusted. Empty if something is."""
        ...

    def page(self, title: str, within: Within | None = None) -> Page | None: ...

    def similar_titles(self, name: str, number: int, within: Within | None = None) -> tuple[str, ...]: ...


class PartOfTexts:
    """A part of a text source, as a source of the same protocols. Closing it leaves the whole open.

    Raises:
        InputError: nothing is in the part; the hint says what is there.
    """

    def __init__(self, source: KnowledgeSource, within: Within) -> None:
        named = sanitize_line(", ".join(within.given))
        if not isinstance(source, HasParts):
            raise InputError(f"the source {source.name} cannot be asked in a part ({named})")
        if near := source.part_missing(within):
            hint = sanitize_line(" ".join(near))
            raise InputError(f"nothing in the text index is in the part that was asked for: {named}", hint=hint)
        self._source = source
        self._within = within

    @property
    def name(self) -> str:
        return self._source.name

    def retrieve(self, request: Request, cancellation: Cancellation) -> Retrieval:
        return self._source.retrieve(replace(request, within=self._within), cancellation)

    @property
    def pages_missing(self) -> str:
        return self._source.pages_missing

    def page(self, title: str) -> Page | None:
        return self._source.page(title, self._within)

    def similar_titles(self, name: str, number: int) -> tuple[str, ...]:
        return self._source.similar_titles(name, number, self._within)

    def collection(self, within: Within | None = None) -> Collection | None:
        """See :class:`HasCollection`; of the part."""
        return self._source.collection(self._within) if isinstance(self._source, HasCollection) else None

    def close(self) -> None:
        """Nothing of it is its own."""


# The document that a question names as the place to look in: "in the travel policy, how much …".

_LONGEST_NAME = 10  # words of a name
_WORD = re.compile(r"\S+")
_QUOTES = "\"'“”„‘’«»"
_Found = dict[str, set[str]]  # path → articles


class NamedDocuments:
    """Finds the document that a question names. Thread-safe.

    What follows "in", "according to" or "from", at the beginning or the end of the question, names a document where it
    begins or ends with a word for one ("policy", "page") and

    - is its title or file name, with that word or without ("the parental leave page": "Parental leave"), or
    - shares two words at least with its name, which has all the others too ("the travel policy": "Travel and expense
      policy").

    Without such a word it has to be the title itself, of two words at least after "in" and "from": a note "Paris" is
    not named by "in Paris", nor one "United States" by "in the United States".

    Args:
        articles: of the index; those of one file are one document.
    """

    def __init__(self, articles: Iterable[PlacedArticle]) -> None:
        names: dict[str, _Found] = defaultdict(dict)
        for one in articles:
            file = PurePosixPath(one.path)
            for key in {name_key(name) for name in (one.title, one.path, file.name, file.stem)}:
                names[key].setdefault(one.paths[0], set()).add(one.article)
        self._names = dict(names)

    def find(self, question: str) -> frozenset[str]:
        """The articles of the document that the question names; empty if it names none, or more than one."""
        words = document_words()
        for said, phrase, whole in _phrases(question):
            key = name_key(phrase)
            first, _, rest = key.partition(" ")
            bare = rest if first in words.articles else key
            kind = bare.rpartition(" ")[2]
            found: _Found = {}
            if kind in words.kinds:
                found = self._called(bare) or self._called(bare[: -len(kind)].strip()) or self._with_words(bare, kind)
            elif whole and bare.partition(" ")[0] in words.kinds:
                found = self._called(bare.partition(" ")[2])
            elif whole and (" " in key or said not in words.places):
                found = self._called(key)
            if len(found) == 1:
                return frozenset(*found.values())
        return frozenset()

    def _called(self, key: str) -> _Found:
        return self._names.get(key, {})

    def _with_words(self, key: str, kind: str) -> _Found:
        stems = _stems(key)
        found: _Found = {}
        for words, name in self._by_words:
            if stems - _stems(kind) <= words and len(stems & words) > 1:
                for path, articles in self._names[name].items():
                    found.setdefault(path, set()).update(articles)
        return found

    @cached_property
    def _by_words(self) -> list[tuple[frozenset[str], str]]:
        return [(_stems(key), key) for key in self._names]


@cache
def _introduction() -> re.Pattern[str]:
    return re.compile(rf"(?:^|(?<=\s))({any_of(document_words().introductions)})\s+", re.IGNORECASE)


def _phrases(question: str) -> Iterator[tuple[str, str, bool]]:
    """What may name a document: the words that introduce it, the name, and whether it ends where the name ends."""
    text = question.strip().rstrip("?!. ")
    for place in _introduction().finditer(text):
        rest = text[place.end() :]
        ends = [word.end() for word in _WORD.finditer(rest)]
        if len(ends) <= _LONGEST_NAME:
            yield place[1].casefold(), rest.strip(_QUOTES), True
        if place.start() == 0:
            for end in reversed(ends[:_LONGEST_NAME]):
                closed = rest[end - 1] == ","
                yield place[1].casefold(), rest[:end].rstrip(",").strip(_QUOTES), closed


def _stems(key: str) -> frozenset[str]:
    return frozenset(without_suffix(word) for word in key.split() if word not in english().small)


_TIMEOUT = timedelta(seconds=60)
# What an article says of itself stands with each of its passages; JSON with escapes, so that the quotes tell keys.
_FIRST_PASSAGES = f"""id LIKE '%#0' AND ({METADATA} LIKE '%"tags"%' OR {METADATA} LIKE '%"date"%')"""
_KEPT = 8
_NEAR, _TAGS_TOLD = 3, 10
_LIKE = 50.0


@dataclass(eq=False)
class TextParts:
    """The parts of a text index. Thread-safe.

    Args:
        table: of its passages.
        places: of an index of documents; None of one of articles, whose titles stand for paths.

    Raises (all methods):
        KnowledgeIndexError: the catalogue cannot be read.
        Exception: what LanceDB raises.
    """

    table: Any
    rows: int
    catalog: CatalogReader | None
    places: DocumentPlaces | None
    _kept: dict[Within, frozenset[str]] = field(default_factory=dict)

    def articles(self, within: Within) -> frozenset[str]:
        """Ids of the articles that are in the part."""
        found = self._kept.get(within)
        if found is None:
            if len(self._kept) >= _KEPT:
                self._kept.clear()
            found = self._kept[within] = frozenset.intersection(*self._fitting(within).values())
        return found

    def named(self, question: str) -> frozenset[str]:
        """Ids of the articles of the document that the question names; none in an index of articles."""
        return self._named.find(question) if self.places is not None else frozenset()

    def near(self, within: Within) -> list[str]:
        """What could be meant where nothing is in the part: sentences. Untrusted."""
        told = []
        fitting = self._fitting(within)
        if not fitting.get("paths", True) and (near := self._near_paths(within.paths)):
            told.append(f"{'Paths' if self.places is not None else 'Titles'} there: {', '.join(near)}.")
        if not fitting.get("tags", True):
            counted = Counter(tag for tags, _ in self._details.values() for tag in tags)
            near = [*_like(within.tags, counted), *(tag for tag, _ in counted.most_common(_TAGS_TOLD))]
            listed = ", ".join(f"#{tag}" for tag in list(dict.fromkeys(near))[:_TAGS_TOLD])
            told.append(f"Tags there: {listed}." if listed else "Nothing there has a tag.")
        if not fitting.get("days", True):
            days = sorted(day for day in self._days().values())
            dated = f"What is there is of {_iso(days[0])} to {_iso(days[-1])}." if days else "Nothing there has a date."
            told.append(dated)
        return told or ["Each condition fits something, but nothing fits all of them."]

    def _fitting(self, within: Within) -> dict[str, frozenset[str]]:
        """The articles that fit the conditions, by the kind of the condition."""
        fitting: dict[str, Iterable[str]] = {}
        if within.paths:
            fitting["paths"] = self._at(within.paths)
        if within.tags:
            fitting["tags"] = [
                article
                for article, (tags, _) in self._details.items()
                if any(f"{tag}/".startswith(f"{wanted}/") for tag in tags for wanted in within.tags)
            ]
        if within.after or within.before:
            first, last = within.after or (-9999, 1, 1), within.before or (99999, 1, 1)
            fitting["days"] = [article for article, day in self._days().items() if first <= day < last]
        return {kind: frozenset(articles) for kind, articles in fitting.items()}

    def _at(self, paths: Sequence[str]) -> list[str]:
        if self.places is None:
            return [found for path in paths for found in self.catalog.matching(path)] if self.catalog else []
        return [one.article for one in self.documents if any(_fits(one.paths, path) for path in paths)]

    def _near_paths(self, paths: Sequence[str]) -> list[str]:
        if self.places is not None:
            files = [one.path for one in self.documents]
            folders = {f"{folder}/" for file in set(files) for folder in PurePosixPath(file).parents if folder.name}
            there = list(dict.fromkeys([*sorted(folders), *files]))
            return _like(paths, there) or there[:_NEAR]
        return self.catalog.some_titles(_NEAR) if self.catalog else []

    def _days(self) -> dict[str, Day]:
        """The day of each article: the one that it gives itself, else that of the last change of its file."""
        days = {one.article: one.modified for one in self.documents if one.modified is not None}
        return days | self.own_days()

    def own_days(self) -> dict[str, Day]:
        """The day of each article that gives one itself."""
        return {article: day for article, (_, day) in self._details.items() if day is not None}

    @cached_property
    def documents(self) -> list[PlacedArticle]:
        """All articles of an index of documents, in order."""
        return list(self.places.articles()) if self.places is not None else []

    @cached_property
    def _named(self) -> NamedDocuments:
        return NamedDocuments(self.documents)

    @cached_property
    def _details(self) -> dict[str, tuple[frozenset[str], Day | None]]:
        """Tags and day of the articles that give any."""
        if METADATA not in self.table.schema.names:  # of an earlier version
            return {}
        search = self.table.search().where(_FIRST_PASSAGES).select(["article", METADATA]).limit(self.rows)
        rows = search.to_arrow(timeout=_TIMEOUT).to_pylist()
        return {row["article"]: _told(row[METADATA]) for row in rows}


def _told(metadata: object) -> tuple[frozenset[str], Day | None]:
    """Tags and day in the metadata of an article. Untrusted."""
    try:
        found = json.loads(str(metadata))
    except (ValueError, RecursionError):
        return frozenset(), None
    if not isinstance(found, dict):
        return frozenset(), None
    tags = found.get("tags")
    listed = tags if isinstance(tags, list) else str(tags or "").split(",")
    named = frozenset(tag for tag in (tag_key(str(one)) for one in listed) if tag)
    return named, day_of(found.get("date"))


def day_of(date: object) -> Day | None:
    """The day of a date as front matter, a page or a mail gives it."""
    text = str(date or "").strip()
    for form in (text, text[:10]):  # a time may follow
        if (found := parse_date(form)) is not None:
            return found.first
    of_mail = parsedate(text)
    return of_mail[:3] if of_mail is not None else None


def _fits(names: Sequence[str], path: str) -> bool:
    if path == ".":
        return True
    # A pattern for paths below the folder would fit much of what is above it too.
    keys = [path_key(name) for name in names if name.startswith("/") == path.startswith("/")]
    return any(key == path or key.startswith(f"{path}/") or fnmatchcase(key, path) for key in keys)


def _like(wanted: Iterable[str], there: Iterable[str]) -> list[str]:
    """What is most like one of these, best first."""
    choices = list(there)
    found = [
        (-score, text)
        for one in wanted
        for text, score, _ in process.extract(one, choices, scorer=fuzz.WRatio, limit=_NEAR, score_cutoff=_LIKE)
    ]
    return list(dict.fromkeys(text for _, text in sorted(found)))[:_NEAR]


def _iso(day: Day) -> str:
    return "{:04d}-{:02d}-{:02d}".format(*day)
