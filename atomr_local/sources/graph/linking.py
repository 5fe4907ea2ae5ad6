"""Entity linking: from a name, and what is said about it, to the entities of the graph that it may mean."""

from __future__ import annotations

import math
import re
import string
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache

from rapidfuzz import fuzz
from rapidfuzz.distance import DamerauLevenshtein

from atomr_local.indexing.graph_index.names.database import EntityRow, NameRow
from atomr_local.indexing.readers.base import encodable
from atomr_local.language.names import base_key, name_key, same_name, split_qualifier, words
from atomr_local.language.properties import property_table
from atomr_local.language.words import english, first_letters, relation_words
from atomr_local.sources.graph.entity_sets import EntitySetGraph
from atomr_local.sources.graph.knowledge_graph import TYPE_PROPERTIES, KnowledgeGraph, term_iri
from atomr_local.sources.graph.semantic_similarity import SemanticSimilarity
from atomr_local.sources.protocol import Evidence, Retrieval, Value

# Similarity of names, misspellings, and names with a qualifier ("Portland, Oregon").


# Of names with a letter wrong, all that were linked by likeness were linked rightly, and 1 of 800 names that the
# graph does not hold was linked (scripts/bench/link_scores.py, starter and 2WikiMultihopQA's facts).
FUZZY, PART, WORD = 0.96, 0.72, 0.61
_LEAST_RATIO = 0.86
_LEAST_COVERAGE = 0.6
_SHORTEST, _LONGEST = 4, 12
_POSSESSIVE = re.compile(r"['’]s?$")
_ROMAN = re.compile(r"(?=[ivx]{2})x{0,3}(?:ix|iv|v?i{0,3})")
_OPENING = re.compile(r"^(?:the|an?) (?=\S)", re.IGNORECASE)


def similarity(key: str, other: str) -> float:
    """How alike two keys are that are not equal; 0 where they may not be taken for each other."""
    if _numbers(key) != _numbers(other):
        return 0.0
    ratio = max(fuzz.ratio(key, other), fuzz.token_sort_ratio(key, other)) / 100
    if ratio >= _LEAST_RATIO:
        return FUZZY * ratio
    if DamerauLevenshtein.distance(key, other) <= (0 if len(key) < 5 else 1 if len(key) < 9 else 2):
        return FUZZY * ratio
    return _partial(key, other)


def _numbers(key: str) -> list[str]:
    """The numbers of a name, those of kings too."""
    return [word for word in key.split() if word.isdigit() or _ROMAN.fullmatch(word)]


def _partial(key: str, other: str) -> float:
    """A name with a part left out, such as a middle name."""
    mine, theirs = key.split(), other.split()
    if len(mine) == 1:
        return WORD if len(key) >= 4 and key in theirs and len(theirs) <= 3 else 0.0
    if len(theirs) == 1:
        return 0.0
    ends_agree = mine[0] == theirs[0] and mine[-1] == theirs[-1]
    if set(mine) <= set(theirs):
        return PART if ends_agree or len(key) / len(other) >= _LEAST_COVERAGE else 0.0
    return PART if ends_agree and set(theirs) <= set(mine) else 0.0


def one_slip_away(key: str) -> list[str]:
    """Keys that one slip of the pen turns into this one: a letter swapped, left out, added or another.

    None for keys shorter than four or longer than twelve letters: the former mean anything, the latter are found by
    the pieces they share.
    """
    if not _SHORTEST <= len(key) <= _LONGEST:
        return []
    found: dict[str, None] = {}
    for place in range(len(key)):
        before, after = key[:place], key[place:]
        if len(after) > 1:
            found.setdefault(before + after[1] + after[0] + after[2:])
        found.setdefault(before + after[1:])
        for letter in string.ascii_lowercase:
            found.setdefault(before + letter + after[1:])
            found.setdefault(before + letter + after)
    for letter in string.ascii_lowercase:
        found.setdefault(key + letter)
    return [other for other in found if other != key and not any(map(str.isdigit, other))]


def parted(name: str) -> Iterator[tuple[str, str, bool]]:
    """(name, what it is said to be or lie in, whether that is a place or class set off by a comma) of the ways in which
    a name that is none as a whole may fall into two: "Portland, Oregon", "Nile river", "the planet Mars", "Emma's"."""
    bare = _POSSESSIVE.sub("", name)
    if bare != name:
        yield bare, "", False
    head, comma, rest = name.partition(",")
    if comma and head.strip() and rest.strip():
        yield head.strip(), rest.strip(), True
    pieces = _OPENING.sub("", bare).split()
    if 2 <= len(pieces) <= 6:
        yield " ".join(pieces[:-1]), pieces[-1], False
        yield " ".join(pieces[1:]), pieces[0], False


LINKED = 0.6
_EXACT, _FOLDED, _KEY, _BASE, _PARTED = 1.0, 0.985, 0.97, 0.9, 0.9
_SLIP, _ONLY_WORD = 0.82, 0.68
_QUALIFIED = 0.95
_ALIAS_PENALTY = 0.01
_CONTEXT_GAIN, _QUESTION_GAIN, _POPULARITY_GAIN = 0.2, 0.04, 0.01
_QUALIFIER_LOSS = 0.04
_NEIGHBOUR_WEIGHT = 0.5
_TIE = 0.01
_MAX_CANDIDATES = 40
# Chosen on the first four fifths of the namesakes of scripts/bench/linking.py: of those whose likeness differs by a
# tenth 95% are right, of the others half, so that less stays a tie.
_MEANING_GAIN, _MEANING_WINDOW, _MEANING_TIE = 0.3, 0.2, 0.03
_LEAD = 0.03
_FACTS_ABOUT = 4
_LONGEST_NAME = 2000
# Said of nearly every node's question, so they tell no entity from another.
_STOP, _SAME = english().in_descriptions, relation_words().same


@dataclass(frozen=True, slots=True)
class Candidate:
    """An entity that a name may mean.

    Attributes:
        score: how surely, 0 to 1.
        name: the name of the entity that matched.
        tied: how many candidates are as good as this one, itself included; the score is lower for it, by
            :func:`tie_factor`.
    """

    entity: EntityRow
    score: float
    name: str
    tied: int = 1


class Linker:
    """Links names over one graph. Thread-safe.

    Args:
        meaning: tells namesakes apart where the descriptor's words do not; None: words decide alone.
    """

    def __init__(self, graph: KnowledgeGraph, semantic: SemanticSimilarity | None = None) -> None:
        self._graph = graph
        self._semantic = semantic or SemanticSimilarity(None)
        self._context_words = lru_cache(maxsize=4096)(self._find_context_words)
        self._about = lru_cache(maxsize=4096)(self._find_about)

    def link(
        self, name: str, descriptor: str = "", question: str = "", limit: int = 10, *, fuzzy: bool = True
    ) -> list[Candidate]:
        """Candidates, best first; none when no name of the graph is near enough.

        Args:
            fuzzy: names that are only written alike will do where none is the same.
        """
        name = " ".join(encodable(name).split())
        if len(name) > _LONGEST_NAME:
            return []
        bare, qualifier = split_qualifier(name)
        matched = self._matches(name, bare, fuzzy)
        if not matched:
            return []
        # What the descriptor and the name's own qualifier say weighs more than the rest of the question.
        said = _content(f"{descriptor} {qualifier}")
        asked = _content(question) - said - _content(name)
        weighed = [self._weigh(row, match, name, said, asked) for row, match in matched.values()]
        scored = [candidate for candidate in weighed if candidate is not None]
        scored.sort(key=_order)
        judged = self._by_similarity(scored, f"{descriptor} {qualifier}".strip(), said)
        return _normalised(judged or scored, _MEANING_TIE if judged else _TIE)[:limit]

    def namesakes(self, iri: str) -> list[EntityRow]:
        """Other entities of the same name, qualifiers aside, where one of the two was never distinguished by an id.

        A label without an id may stand for the same thing as one with: facts about it are then found under either. Not
        where the qualifiers of both tell them apart.
        """
        graph = self._graph
        row = graph.row(iri)
        if row is None or not row.label:
            return []
        found: dict[str, EntityRow] = {}
        said = _content(split_qualifier(row.label)[1])
        for text in graph.names.names_of(iri)[:5]:
            for other in graph.names.by_base(base_key(text), limit=20):
                of_other = _content(split_qualifier(other.entity.label)[1])
                if said and of_other and not (said <= of_other or of_other <= said):
                    continue  # each says who it is: "Anne Hathaway (actress)", "Anne Hathaway (wife of Shakespeare)"
                if other.entity.iri != iri and not (graph.resolved(iri) and graph.resolved(other.entity.iri)):
                    found.setdefault(other.entity.iri, other.entity)
        return list(found.values())

    def bearers(self, iri: str) -> list[EntityRow]:
        """The one person whose last name is the entity's only word: Abraham Lincoln for the film "Lincoln"."""
        row = self._graph.row(iri)
        key = name_key(row.label) if row else ""
        if not key or " " in key:
            return []
        found = {
            named.entity.iri: named.entity
            for named in self._graph.names.similar(key)
            if named.key.endswith(f" {key}")
            and named.entity.iri != iri
            and "human" in self._graph.types(named.entity.iri)
        }
        return list(found.values()) if len(found) == 1 else []

    def _matches(self, name: str, bare: str, fuzzy: bool) -> dict[str, tuple[NameRow, float]]:
        """The best matching name of each candidate entity, with the score of the match alone."""
        best: dict[str, tuple[NameRow, float]] = {}

        qualified = bare != name

        def take(rows: Iterable[NameRow], score: float) -> None:
            for row in rows:
                if row.text == name:
                    match = _EXACT
                elif row.text.casefold() == name.casefold():
                    match = max(score, _FOLDED)
                else:
                    match = score
                if not qualified and row.qualifier and row.base == name_key(name):
                    match = max(match, _QUALIFIED)  # the graph's own qualifier tells namesakes apart
                if row.text != row.entity.label:
                    match -= _ALIAS_PENALTY
                if match > best.get(row.entity.iri, (row, 0.0))[1]:
                    best[row.entity.iri] = (row, match)

        names = self._graph.names
        take(names.by_key(name_key(name)), _KEY)
        take(names.by_base(base_key(name)), _BASE)
        if not best and qualified:
            take(names.by_key(name_key(bare)), _BASE)
        if not best:
            for country in property_table().countries.get(name_key(name), ()):
                take(names.by_key(country), _BASE)  # "U.S.", "UK"
        if not best:
            for part, rest, apart in parted(name):
                rows = [*names.by_key(name_key(part)), *names.by_base(base_key(part))]
                take([row for row in rows if not rest or self._is_said_to_be(row.entity.iri, rest, apart)], _PARTED)
        if not best and fuzzy:
            for row in names.similar(name_key(name)):
                take([row], similarity(name_key(name), row.key))
            best = {iri: found for iri, found in best.items() if found[1] >= LINKED}
            if not best:
                slips = one_slip_away(name_key(name))
                take(names.by_keys(slips) if slips else (), _SLIP)
            best = self._only_bearer(best, name_key(name))
            if len(best) > 1:  # of several that are only written alike, one with another word is another
                best = {iri: found for iri, found in best.items() if same_name(name, found[0].text) is not False}
        top = sorted(best.items(), key=lambda item: (-item[1][1], -item[1][0].entity.statements, item[0]))
        return dict(top[:_MAX_CANDIDATES])

    def _is_said_to_be(self, iri: str, said: str, apart: bool) -> bool:
        """Whether all that is said is among the entity's types, or, said apart ("Paris, France"), among its facts."""
        graph, row = self._graph, self._graph.row(iri)
        wanted = _content(said)
        known = _content("; ".join([*graph.types(iri), row.description if row else ""]))
        return bool(wanted) and wanted <= (known | self._context_words(iri)[0] if apart else known)

    def _only_bearer(self, best: dict[str, tuple[NameRow, float]], key: str) -> dict[str, tuple[NameRow, float]]:
        """A last name is enough if only one entity has it."""
        only = [iri for iri, (row, match) in best.items() if match <= WORD and row.key.split()[-1] == key]
        others = [iri for iri, (_, match) in best.items() if match > WORD]
        bearers = {iri for iri, (row, _) in best.items() if key in row.key.split()}
        if len(only) == 1 and not others and bearers == set(only):
            best[only[0]] = (best[only[0]][0], _ONLY_WORD)
        return best

    def _weigh(self, row: NameRow, match: float, name: str, said: set[str], asked: set[str]) -> Candidate | None:
        own, near = self._context_words(row.entity.iri) if said or asked else (frozenset[str](), frozenset[str]())
        score = match
        if said:
            fit = _share(said, own) + _NEIGHBOUR_WEIGHT * _share(said, near)
            score += _CONTEXT_GAIN * (fit - 0.5)
        if match <= WORD and not said & own:
            return None  # one word of a longer name is too little by itself
        if asked:
            score += _QUESTION_GAIN * _share(asked, own)
        qualifier = _content(row.qualifier)
        if qualifier and name_key(row.text) != name_key(name) and not (qualifier | own) & (said | asked):
            score -= _QUALIFIER_LOSS
        score += _POPULARITY_GAIN * min(1.0, math.log10(1 + _fame(row.entity)) / 4)
        return Candidate(row.entity, score, row.text)

    def _by_similarity(self, scored: list[Candidate], descriptor: str, said: set[str]) -> list[Candidate] | None:
        """The candidates, those near the best judged by how near the descriptor comes to what each is said to be.

        None if words decide, or there is no telling.
        """
        near = [item for item in scored if scored[0].score - item.score <= _MEANING_WINDOW]
        if len(near) < 2 or not said or not self._semantic.usable:
            return None
        whole = [said <= self._context_words(item.entity.iri)[0] for item in near]
        if whole[0] and (near[0].score - near[1].score >= _LEAD or not any(whole[1:])):
            return None  # all that is said holds of the first, and of no other so well
        similarities = self._semantic.similarities(descriptor, [self._about(item.entity.iri) for item in near])
        if similarities is None:
            return None
        best = max(similarities)
        judged = [
            replace(item, score=item.score - _MEANING_GAIN * (best - like))
            for item, like in zip(near, similarities, strict=True)
        ]
        return sorted(judged + scored[len(near) :], key=_order)

    def _find_about(self, iri: str) -> str:
        """What the entity is, in a few words: its description and types, else some of its facts."""
        graph = self._graph
        row = graph.row(iri)
        parts = [row.description] if row and row.description else []
        parts += [qualifier for name in graph.names.names_of(iri)[:5] if (qualifier := split_qualifier(name)[1])]
        parts += graph.types(iri)
        if not (row and row.description):
            facts = [fact for fact in graph.main_facts(iri, _FACTS_ABOUT) if fact.subject == iri]
            parts += [
                f"{graph.property_label(fact.property)} {graph.value(fact).text}"
                for fact in facts
                if fact.property not in TYPE_PROPERTIES
            ]
        return "; ".join(dict.fromkeys(parts))

    def _find_context_words(self, iri: str) -> tuple[frozenset[str], frozenset[str]]:
        """Words that tell what the entity is: those of its own statements, names and description, and beside them
        those of what points to it ("film" in "Hamlet (1948 film) — based on: Hamlet" is no word of the play's own).
        """
        graph = self._graph
        row = graph.row(iri)
        texts = [row.description if row else ""]
        texts += [split_qualifier(name)[1] for name in graph.names.names_of(iri)]
        known = property_table().by_iri
        own_statements = graph.statements(iri, limit=60)
        typed = bool(graph.types(iri))
        pointing = graph.statements(tail=iri, limit=30)
        ends = [other for statement in own_statements if (other := term_iri(statement.object)) is not None]
        labels = graph.labels([*ends, *(statement.subject for statement in pointing)])
        for statement in own_statements:
            texts.append(graph.value(statement, label=labels.get(term_iri(statement.object) or "", "")).text)
            texts.append(graph.property_label(statement.property))
            domain = known[statement.property].domain if statement.property in known else ()
            # What has a setting may be a play or a film; where its class is stated, that decides.
            texts.extend(() if typed else domain)
        near = []
        for statement in pointing:
            near.append(labels[statement.subject])
            texts.append(graph.property_label(statement.property))
            if statement.property in known:
                texts.append(known[statement.property].kind)
        own = frozenset(_content(" ".join(texts)))
        return own, frozenset(_content(" ".join(near))) - own


def _normalised(candidates: list[Candidate], tie: float) -> list[Candidate]:
    """Scores within 0 to 1; lower where the next candidate is as good, because then the choice is a guess."""
    if not candidates:
        return []
    tied = sum(1 for item in candidates if candidates[0].score - item.score < tie)
    return [
        Candidate(
            item.entity,
            round(min(1.0, max(0.0, item.score)) * tie_factor(tied), 4),
            item.name,
            tied if place < tied else 1,
        )
        for place, item in enumerate(candidates)
    ]


def tie_factor(tied: int) -> float:
    """What the choice between so many equals leaves of a score."""
    return 1.0 if tied <= 1 else 0.75 if tied == 2 else 0.6


def _order(candidate: Candidate) -> tuple[float, int, str]:
    return (-candidate.score, -_fame(candidate.entity), candidate.entity.iri)


def _fame(entity: EntityRow) -> int:
    """How much is said of an entity: statements, and pages about it in all languages."""
    return entity.statements + entity.sitelinks


def _content(text: str) -> set[str]:
    """Words cut to their first letters, so that "mythology" meets "mythological"."""
    return {first_letters(_SAME.get(word, word), 6) for word in words(text) if word not in _STOP}


def _share(wanted: set[str], present: frozenset[str]) -> float:
    return len(wanted & present) / len(wanted)


# The entities that the head of a relation or a condition may be.

_HEADS = 5
_HEAD_WINDOW = 0.12
_NAMESAKE = 0.8


@dataclass(frozen=True, slots=True)
class Head:
    """An entity that the head may be, how surely, and how many are as likely (itself included)."""

    iri: str
    score: float
    tied: int = 1


def retrieved(
    graph: KnowledgeGraph,
    head: Head,
    relation: float,
    evidence: Sequence[Evidence] = (),
    values: Sequence[Value] = (),
    dropped: Sequence[str] = (),
    *,
    decided: bool = True,
) -> Retrieval:
    """What an operator found for the head.

    Args:
        relation: how surely the relation or condition was matched, 0 to 1.
    """
    linked = graph.entity_value(head.iri, head.score)
    return Retrieval(tuple(evidence), tuple(values), head.score, relation, decided, tuple(dropped), linked)


class HeadLinker:
    """Links values to entities of one graph. Thread-safe."""

    def __init__(self, graph: KnowledgeGraph, linker: Linker) -> None:
        self._graph = graph
        self._linker = linker

    def candidates(self, value: Value, question: str, *, fuzzy: bool = True) -> list[Head]:
        """Entities that a value may be, most likely first; then those of the same name that it may have become.

        Args:
            fuzzy: names that are only written alike will do.
        """
        if value.iri is not None and self._graph.row(value.iri) is not None:
            heads = [Head(value.iri, value.score if value.score is not None else 1.0)]
        else:
            linked = self._linker.link(value.text, question=question, fuzzy=fuzzy)
            found = [candidate for candidate in linked if candidate.score >= LINKED * 0.75]
            near = [item for item in found if found[0].score - item.score <= _HEAD_WINDOW]
            heads = [Head(item.entity.iri, item.score, item.tied) for item in near[:_HEADS]]
        known = {head.iri for head in heads}
        for head in heads[:1] if not self._of_set(value) else ():
            for row in self._linker.namesakes(head.iri):
                if row.iri not in known and len(heads) < 2 * _HEADS:
                    known.add(row.iri)
                    heads.append(Head(row.iri, head.score * _NAMESAKE))
        return heads

    def bearers(self, value: Value, head: Head) -> list[Head]:
        """Whoever a value may also be that has become this head, by its last name."""
        rows = [] if self._of_set(value) else self._linker.bearers(head.iri)
        return [Head(row.iri, head.score * _NAMESAKE) for row in rows]

    def _of_set(self, value: Value) -> bool:
        """Whether the value is one of a set of entities that the graph itself has distinguished."""
        return isinstance(self._graph, EntitySetGraph) and value.iri is not None and self._graph.resolved(value.iri)
