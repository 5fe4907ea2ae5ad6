"""Several text indexes searched as one source.

Scores of a search by words depend on what else an index holds: in a large one a rare word weighs more. So the hits of
all indexes are ranked anew together: by the words of the query, weighed by how many of these hits have them (BM25), and
by the similarity of vectors, which all indexes have from one embedder. Both ranks are fused as in one index. An index
with nothing on the matter puts nothing before one that has.

The second search with the names of the first passages reads the first of all indexes together and looks
in every one: what an index names may stand in another.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from itertools import chain, groupby

from atomr_local.language.names import telling_stems
from atomr_local.sources.protocol import (
    Collection,
    Evidence,
    HeldDate,
    HeldDocument,
    HeldPassage,
    Page,
    Request,
    Retrieval,
    SourceName,
    Within,
)
from atomr_local.sources.reranking import Reranker
from atomr_local.sources.text import TextSource
from atomr_local.sources.text_hits import (
    CANDIDATES,
    READ,
    RRF_K,
    Hit,
    evidence_of,
    names_found,
    plain_query,
    put_behind,
    searched_again,
)
from atomr_local.system.cancellation import Cancellation

# The documents of several text indexes, all together. An id begins with the name of its index, which has no "/".


@dataclass(frozen=True)
class SeveralCollections:
    """Collections by the names of their indexes, as one. See :class:`Collection`."""

    collections: Mapping[str, Collection]

    @property
    def part(self) -> str:
        return next(iter(self.collections.values())).part

    def documents(self) -> list[HeldDocument]:
        """See :class:`Collection`; the name of the index stands before the files, where there are several."""
        above = "{}/{}" if len(self.collections) > 1 else "{1}"
        return [
            replace(one, id=f"{name}/{one.id}", file=above.format(name, one.file))
            for name, held in self.collections.items()
            for one in held.documents()
        ]

    def tagged(self, tag: str) -> frozenset[str]:
        return frozenset(f"{name}/{one}" for name, held in self.collections.items() for one in held.tagged(tag))

    def may_hold(self, words: Sequence[str]) -> frozenset[str] | None:
        found = set[str]()
        for name, held in self.collections.items():
            may = held.may_hold(words)
            ids = (one.id for one in held.documents()) if may is None else may
            found |= {f"{name}/{one}" for one in ids}
        return frozenset(found)

    def texts(
        self, documents: Sequence[str], cancellation: Cancellation, *, opening: bool = False
    ) -> Iterator[tuple[str, list[HeldPassage]]]:
        for name, own in _by_index(documents):
            for document, passages in self.collections[name].texts(own, cancellation, opening=opening):
                yield f"{name}/{document}", [replace(one, id=f"{name}/{one.id}") for one in passages]

    def dates(self, documents: Sequence[str], cancellation: Cancellation, *, changed: bool) -> dict[str, HeldDate]:
        dates = dict[str, HeldDate]()
        for name, own in _by_index(documents):
            found = self.collections[name].dates(own, cancellation, changed=changed)
            dates |= {f"{name}/{document}": day for document, day in found.items()}
        return dates

    def cited(self, title: str, passage: HeldPassage, query: str) -> Evidence:
        name, _, own = passage.id.partition("/")
        found = self.collections[name].cited(title, replace(passage, id=own), query)
        return replace(found, locator={**found.locator, "index": name})


def _by_index(documents: Sequence[str]) -> Iterator[tuple[str, list[str]]]:
    for name, several in groupby(documents, lambda one: one.partition("/")[0]):
        yield name, [one.partition("/")[2] for one in several]


_K1, _B = 1.2, 0.75  # of BM25, as the full-text index has them


class SeveralTexts:
    """Text indexes as one :class:`HasParts` and :class:`HasCollection`. Thread-safe.

    Evidence names its index.

    Args:
        sources: by the name of the index, in the user's order; of pages with one title, the first index's is opened.
        reranker: orders what was found again.
    """

    def __init__(self, sources: Mapping[str, TextSource], *, reranker: Reranker | None = None) -> None:
        self.sources = dict(sources)
        self._reranker = reranker
        self._searchers = ThreadPoolExecutor(len(self.sources), thread_name_prefix="atomr-index")

    @property
    def name(self) -> str:
        return SourceName.TEXT

    def retrieve(self, request: Request, cancellation: Cancellation) -> Retrieval:
        """The passages of all indexes that suit the query best, the page of the entity itself first."""
        found = self._in_all(lambda source: source.candidates(request, cancellation, compared=True))
        cancellation.check()
        rank_together(found, plain_query(request), by_words=request.mode != "dense")
        if searched_again(request):
            self._search_again(request, found, cancellation)
        return evidence_of(request, found, self._reranker, cancellation)

    def _in_all(self, search: Callable[[TextSource], list[Hit]]) -> list[Hit]:
        """What the search finds in the indexes, all at the same time; each hit names its index."""
        running = [(name, self._searchers.submit(search, source)) for name, source in self.sources.items()]
        found: list[Hit] = []
        for name, search_of in running:
            for hit in search_of.result():
                hit.index = name
                found.append(hit)
        return found

    def _search_again(self, request: Request, found: list[Hit], cancellation: Cancellation) -> None:
        """Add what the indexes have on the names in the first hits, behind these."""
        query = plain_query(request)
        first = sorted(found, key=Hit.place)[:READ]
        names = names_found(query, [(hit.row["title"], hit.row["text"]) for hit in first])
        if not names:
            return
        again = self._in_all(lambda source: source.candidates_named(request, names, cancellation))
        second, known = set(map(_id, again)), set(map(_id, found))
        found += [hit for hit in again if _id(hit) not in known]
        kept = [hit.relevance for hit in first]
        ahead = set(map(_id, first))
        others = [hit for hit in found if _id(hit) not in ahead]
        rank_together(found, query, named=[hit for hit in found if _id(hit) in second], names=" ".join(names))
        for hit, relevance in zip(first, kept, strict=True):
            hit.relevance = relevance
        put_behind(kept, others)

    def close(self) -> None:
        self._searchers.shutdown(wait=False)
        for source in self.sources.values():
            source.close()

    def some_titles(self, number: int) -> list[str]:
        """Titles of articles, as many of each index."""
        share = -(-number // len(self.sources))
        titles = [source.some_titles(share) for source in self.sources.values()]
        return list(dict.fromkeys(title for some in titles for title in some))[:number]

    @property
    def pages_missing(self) -> str:
        """See :class:`Pages`; pages can be opened if one index can."""
        missing = [source.pages_missing for source in self.sources.values()]
        return missing[0] if all(missing) else ""

    def part_missing(self, within: Within) -> list[str]:
        """See :class:`HasParts`; a sentence that holds for several indexes comes once."""
        missing = [source.part_missing(within) for source in self.sources.values()]
        return list(dict.fromkeys(chain.from_iterable(missing))) if all(missing) else []

    def page(self, title: str, within: Within | None = None) -> Page | None:
        for name, source in self.sources.items():
            if not source.pages_missing and (page := source.page(title, within)) is not None:
                return replace(page, index=name)
        return None

    def similar_titles(self, name: str, number: int, within: Within | None = None) -> tuple[str, ...]:
        """See :class:`Pages`; the indexes take turns."""
        found = [
            source.similar_titles(name, number, within) for source in self.sources.values() if not source.pages_missing
        ]
        turns = [titles[place] for place in range(number) for titles in found if place < len(titles)]
        return tuple(dict.fromkeys(turns))[:number]

    def collection(self, within: Within | None = None) -> Collection | None:
        """See :class:`HasCollection`; the documents are those of the indexes that were built from documents."""
        found = {name: held for name, one in self.sources.items() if (held := one.collection(within)) is not None}
        return SeveralCollections(found) if found else None


def rank_together(
    found: Sequence[Hit], query: str, *, by_words: bool = True, named: Sequence[Hit] = (), names: str = ""
) -> None:
    """Give the hits of several indexes the relevance that they have beside each other.

    Args:
        named: those that a second search found, which are ranked by the words of the query and of `names` too.
    """
    lists = [
        sorted((hit for hit in found if hit.similarity is not None), key=lambda hit: (-(hit.similarity or 0), _id(hit)))
    ]
    if by_words:
        lists.append(_by_words(query, found))
    if named:
        lists.append(_by_words(f"{query} {names}", named))
    for hit in found:
        hit.relevance = 0.0
    for ranked in lists:
        for rank, hit in enumerate(ranked[:CANDIDATES], 1):
            hit.relevance += 1 / (RRF_K + rank)


def _by_words(query: str, found: Sequence[Hit]) -> list[Hit]:
    """The hits that hold a word of the query, best first."""
    scores = _bm25(query, found)
    order = sorted(range(len(found)), key=lambda place: (-scores[place], _id(found[place])))
    return [found[place] for place in order if scores[place] > 0]


def _id(hit: Hit) -> tuple[str, str]:
    return hit.row["id"], hit.index


def _bm25(query: str, found: Sequence[Hit]) -> list[float]:
    """The score of each hit for the words of the query, over these hits alone."""
    texts = [
        Counter(telling_stems(f"{hit.row['title']} {hit.row.get('section') or ''} {hit.row['text']}")) for hit in found
    ]
    sizes = [text.total() for text in texts]
    mean = sum(sizes) / len(sizes) if sizes else 0.0
    scores = [0.0] * len(texts)
    for word in dict.fromkeys(telling_stems(query)):
        holding = sum(word in text for text in texts)
        # Never negative: a word that most hits have is still one that the query asks for.
        weight = math.log1p((len(texts) - holding + 0.5) / (holding + 0.5))
        for place, text in enumerate(texts):
            if count := text[word]:
                scores[place] += weight * count * (_K1 + 1) / (count + _K1 * (1 - _B + _B * sizes[place] / mean))
    return scores
