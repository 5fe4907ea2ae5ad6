"""Relate: one hop from a head entity: to its tails, to a literal, or to what relates it to another entity."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from itertools import chain

from atomr_local.indexing.graph_index.statements.terms import shown_name
from atomr_local.language.names import name_key
from atomr_local.language.properties import PROPERTY, SUBCLASS_OF
from atomr_local.language.question import TimeConstraint, read_question
from atomr_local.language.words import singulars
from atomr_local.sources.graph.knowledge_graph import (
    FIRST_PAGE,
    ROW_LIMIT,
    TYPE_PROPERTIES,
    VALUE_LIMIT,
    KnowledgeGraph,
    Statement,
    bound,
    term_iri,
)
from atomr_local.sources.graph.linking import Head, HeadLinker, Linker, tie_factor
from atomr_local.sources.graph.properties.matching import SURE, UNDERSTOOD, PropertyMatch, PropertyMatcher
from atomr_local.sources.graph.properties.selection import PropertySelector, clear_match
from atomr_local.sources.graph.qualified_statements import requested_time
from atomr_local.sources.graph.relate.values import (
    Containment,
    FollowedValues,
    Level,
    PropertyFollower,
    can_count,
    count_values,
    countable,
    counted,
    distinct_values,
    is_other,
    kind_named,
    ordered_values,
    requested_level,
    requested_order,
    values_pattern,
)
from atomr_local.sources.protocol import Evidence, Request, Retrieval, Value, ValueKind
from atomr_local.system.cancellation import Cancellation

# Members of a class: "lakes" of Africa, or only the "countries" among the values of a relation.
#
# A wording in the plural may name a class of the graph. Where no relation gives anything, what is of the class and lies
# in the head is the answer ("mountains in Asia"); where one does, values that are of another class are left out, and it
# is said which.


# What lies in something: in an administrative unit, a country, a continent; at a place; as its part.
_LIES_IN = tuple(PROPERTY + pid for pid in ("P131", "P17", "P30", "P276", "P361", "P706"))
_STATED = (PROPERTY + "P17", PROPERTY + "P30")
_MOST_WORDS = 4
_MOST_ROWS_OF_A_NAME = 8
_HIGHEST = 4
# Of the values so many must be of the class: else the word means something else here.
_LEAST_SHARE = 0.5
_SHOWN = 5
_MOST_TYPES = 200  # of thousands of values, to be looked at one by one

AskedFor = Callable[[Sequence[str]], tuple[str | None, bool]]


@dataclass(frozen=True, slots=True)
class NamedClass:
    """Attributes: name: as the wording has it, in the singular; iris: classes of this name."""

    name: str
    iris: frozenset[str]


class ClassMembers:
    """Reads classes out of wordings, over one graph. Thread-safe."""

    def __init__(self, graph: KnowledgeGraph) -> None:
        self._graph = graph
        self.named = lru_cache(maxsize=512)(self._named)
        self._above = lru_cache(maxsize=2048)(self._classes_above)
        self._apart = lru_cache(maxsize=2048)(self._apart_uncached)

    def _named(self, wording: str) -> NamedClass | None:
        """The class that a wording names in the plural, the longest name first; None if it names none."""
        tokens = name_key(wording).split()[:12]
        for size in range(min(_MOST_WORDS, len(tokens)), 0, -1):
            for start in range(len(tokens) - size + 1):
                *before, last = tokens[start : start + size]
                for one in singulars(last):
                    name = " ".join([*before, one])
                    iris = self._classes_called(name)
                    if iris:
                        return NamedClass(name, iris)
        return None

    def _classes_called(self, name: str) -> frozenset[str]:
        graph = self._graph
        rows = graph.names.by_key(name, limit=_MOST_ROWS_OF_A_NAME)
        return frozenset(
            row.entity.iri
            for row in rows
            if any(graph.statements(prop=prop, tail=row.entity.iri, limit=1) for prop in graph.type_properties)
        )

    def _is_of(self, stated: Sequence[str], named: NamedClass) -> bool | None:
        """Whether what is an instance of these is of the class; None if the graph does not surely say so or
        otherwise."""
        kind = kind_named(named.name.split()[-1])
        if kind:  # what works are called says little: a "literary work" may be a novel
            return None if not is_other(list(self._graph.labels(stated).values()), kind) else False
        if any(not named.iris.isdisjoint(self._above(found)) for found in stated):
            return True
        return False if stated and all(self._apart(found, named) for found in stated) else None

    def _apart_uncached(self, iri: str, named: NamedClass) -> bool:
        """Whether nothing is both: of one class and of the other, and the one's name does not contain the other's."""
        if f" {named.name} " in f" {name_key(self._graph.label(iri))} ":
            return False
        classes = " ".join(map(bound, sorted(named.iris)))
        types = "|".join(map(bound, self._graph.type_properties))
        query = f"VALUES ?class {{ {classes} }} ?value ({types}) {bound(iri)} . ?value ({types}) ?class ."
        return not self._graph.select(f"SELECT ?value WHERE {{ {query} }}", 1).rows

    def _classes_above(self, iri: str) -> frozenset[str]:
        """The class and those that it is a kind of."""
        seen, level = {iri}, [iri]
        for _ in range(_HIGHEST):
            above = [found for item in level for found in self._graph.targets(item, SUBCLASS_OF, limit=20)]
            level = [found for found in above if found not in seen]
            seen.update(level)
        return frozenset(seen)

    def kept(
        self, values: Sequence[Value], wording: str, pattern: str, cancellation: Cancellation | None = None
    ) -> tuple[list[Value], str]:
        """The values that are of the class that the wording names, and what was left out in words; all of them where
        it names none, or too few are of it.

        Args:
            pattern: of bound terms, that gives the values as ?value, and maybe others.

        Raises:
            Cancelled: `cancellation` was thrown.
        """
        entities = [value for value in values if value.kind is ValueKind.ENTITY and value.iri is not None]
        named = self.named(wording) if len(entities) == len(values) > 0 else None
        if named is None:
            return list(values), ""
        iris = [value.iri or "" for value in values]
        doubtful = self._doubtful(named, pattern) if len(values) > FIRST_PAGE else None
        stated = self._graph.types_of([iri for iri in iris if doubtful is None or iri in doubtful], cancellation)
        # Thousands of values have a few types among them.
        is_of = {types: self._is_of(types, named) for types in dict.fromkeys(stated.values())}
        verdicts = [is_of[stated[iri]] if iri in stated else None for iri in iris]
        kept = [value for value, verdict in zip(values, verdicts, strict=True) if verdict is not False]
        # What a work is called settles it even where nothing is left: a poem is no opera.
        settled = not kept and bool(kind_named(named.name.split()[-1]))
        if len(kept) == len(values) or (len(kept) < max(1, _LEAST_SHARE * len(values)) and not settled):
            return list(values), ""
        left = [value.text for value, verdict in zip(values, verdicts, strict=True) if verdict is False]
        more = f" and {len(left) - _SHOWN} more" if len(left) > _SHOWN else ""
        return kept, f"left out, each is no {named.name}: {', '.join(left[:_SHOWN])}{more}"

    def _doubtful(self, named: NamedClass, pattern: str) -> frozenset[str] | None:
        """Those of the pattern's values that may be of another class: a type that they have would by itself say so;
        None where there are too many types. Most hubs have none, and no value's types need to be read."""
        graph = self._graph
        typed = f"{pattern}\n  ?value {'|'.join(map(bound, graph.type_properties))} ?type ."
        if not graph.type_properties:
            return frozenset()
        types = graph.select(f"SELECT DISTINCT ?type WHERE {{\n  {typed}\n}}", _MOST_TYPES)
        if types.cut:
            return None
        stated = [iri for row in types.terms if (iri := term_iri(row["type"])) is not None]
        others = [iri for iri in stated if self._is_of([iri], named) is False]
        if not others:
            return frozenset()
        query = f"SELECT DISTINCT ?value WHERE {{\n  {typed}\n  FILTER(?type IN ({', '.join(map(bound, others))}))\n}}"
        found = graph.select(query, VALUE_LIMIT)
        return None if found.cut else frozenset(row["value"] for row in found.rows)

    def lying_in(self, head: str, link: float, wording: str, query: str, *, counting: bool = False) -> Retrieval | None:
        """What is of the class that the wording names and lies in the head; None if nothing is.

        Args:
            link: how surely the head was linked, 0 to 1.
            counting: how many there are is asked for.
        """
        named = self.named(wording)
        if named is None:
            return None
        return self._listed(head, link, named, self._pattern(head, named), SURE, query, counting=counting)

    def pointing_to(
        self, head: str, link: float, wording: str, query: str, asked: AskedFor, *, counting: bool = False
    ) -> Retrieval | None:
        """What is of the class that the wording names and has the head as a value: "films" of a director.

        Args:
            link: how surely the head was linked, 0 to 1.
            asked: of several properties, the one that the question most likely asks for, and whether it clearly does.
            counting: how many there are is asked for.
        """
        named = self.named(wording)
        if named is None:
            return None
        found = self._graph.select(
            f"SELECT ?property (COUNT(DISTINCT ?value) AS ?count) WHERE {{\n  {self._things(named)}\n"
            f"  ?value ?property {bound(head)} .\n}} GROUP BY ?property"
        )
        counts = {row["property"]: int(row["count"]) for row in found.rows if "property" in row}
        counts = {prop: count for prop, count in counts.items() if prop not in TYPE_PROPERTIES}
        if not counts:
            return None
        likeliest, clear = asked(list(counts)) if len(counts) > 1 else (next(iter(counts)), True)
        prop = likeliest or max(counts, key=lambda one: (counts[one], one))
        pattern = f"{self._things(named)}\n  ?value {bound(prop)} {bound(head)} ."
        relation = SURE if clear else UNDERSTOOD
        return self._listed(head, link, named, pattern, relation, query, counting=counting)

    def _listed(
        self,
        head: str,
        link: float,
        named: NamedClass,
        pattern: str,
        relation: float,
        query: str,
        *,
        counting: bool,
    ) -> Retrieval | None:
        graph = self._graph
        # Members are not read in pages: the order in which a join gives them is not the same every time.
        answer = graph.labelled(pattern, FIRST_PAGE if counting else VALUE_LIMIT)
        score = round(link * relation, 4)
        known = {iri: label or shown_name(iri) for iri, label in answer.values if iri}
        if not known:
            return None
        values = [Value(label, ValueKind.ENTITY, iri, score) for iri, label in known.items()]
        values.sort(key=lambda value: value.text)
        name = graph.label(head)
        shown = [value.text for value in values[:ROW_LIMIT]]
        more = [f"and {len(values) - ROW_LIMIT} more"] if len(values) > ROW_LIMIT else []
        text = f"{name} — {named.name}: {', '.join(shown + more)}."
        dropped = [f"more than {VALUE_LIMIT}: the rest were left out"] if answer.cut else []
        evidence = [answer.evidence(name, text, score, query)]
        if counting:
            number = len(values)
            if answer.cut:
                number, counted = graph.count(pattern)
                evidence.append(counted.evidence(name, f"{name} — {named.name}: {number} in all.", score, query))
                dropped = [f"of {number} the first {len(values)} were read; all were counted"]
            else:
                evidence = [replace(evidence[0], text=f"{text} {number} in all.")]
            values = [Value(str(number), ValueKind.NUMBER, None, score)]
        return Retrieval(
            tuple(evidence),
            tuple(values),
            link,
            relation,
            decided=True,
            dropped=tuple(dropped),
            linked=graph.entity_value(head, link),
        )

    def _things(self, named: NamedClass) -> str:
        """The pattern of what is of the class, or of a kind of it."""
        classes, types = " ".join(map(bound, sorted(named.iris))), "|".join(map(bound, self._graph.type_properties))
        return f"VALUES ?class {{ {classes} }}\n  ?value ({types})/{bound(SUBCLASS_OF)}* ?class ."

    def _pattern(self, head: str, named: NamedClass) -> str:
        """Things of the class that lie in the head, by whatever steps; a thing whose own country or continent is stated
        lies nowhere else."""
        within = "|".join(map(bound, _LIES_IN))
        lines = [self._things(named), f"?value ({within})+ {bound(head)} ."]
        for prop in map(bound, _STATED):
            if self._graph.statements(prop=prop[1:-1], tail=head, limit=1):
                lines.append(
                    f"FILTER(EXISTS {{ ?value {prop} {bound(head)} }} || NOT EXISTS {{ ?value {prop} ?other }})"
                )
        return "\n  ".join(lines)


_BEHIND_BEST = 0.22
_EQUAL = 0.02
# How surely an entity is meant that alone of its namesakes has what is asked for.
_BY_RELATION = 0.9
_RELATE_SHOWN = 12
_COUNTED = 0.6


class Relate:
    """The operator over one graph. Thread-safe."""

    def __init__(self, graph: KnowledgeGraph, linker: Linker, matcher: PropertyMatcher) -> None:
        self._graph = graph
        self._heads = HeadLinker(graph, linker)
        self._matcher = matcher
        self._selector = PropertySelector(graph, matcher)
        self._containment = Containment(graph, linker)
        self._follower = PropertyFollower(graph)
        self._classes = ClassMembers(graph)

    def run(self, request: Request, cancellation: Cancellation) -> Retrieval:
        if len(request.arguments) < 2:
            return Retrieval()
        head, relation = request.arguments[0], request.arguments[1]
        heads = self._heads.candidates(head, request.question)
        if not heads:
            return Retrieval(link_score=0.0)
        is_entity = relation.iri is not None or relation.kind is ValueKind.ENTITY
        wording, time = relation.text, None
        if self._graph.has_qualifiers and not is_entity:
            wording, time = requested_time(wording, request.question, head.text)
        level = None if is_entity else requested_level(wording, request.question)
        meant, ranked = (wording, []) if is_entity else self._ranked(wording, level, request.question, head.text)
        cancellation.check()
        # "Relate(Ann, Bob)": an entity where a relation could stand. A wording that is surely a relation is one.
        doubtful = is_entity or not ranked or ranked[0].score < SURE
        found = self._read_as_entity_or_count(heads, request, is_entity, cancellation) if doubtful else None
        listed = not is_entity and time is None
        if found is None and doubtful and listed:
            found = self._ordered(heads, wording, request)
        if found is None and listed and (doubtful or not self._selector.has_named(heads[0].iri, ranked)):
            found = self._of_class(heads[0], wording, request)
        found = found or self._stated(heads, meant, ranked, time, level, request, cancellation)
        if found is None and not doubtful and listed:
            found = self._of_class(heads[0], wording, request)
        if found is not None:
            return found
        understood = bool(ranked) and ranked[0].score >= SURE
        relation_score = ranked[0].score if understood else 0.0
        return Retrieval(
            link_score=heads[0].score,
            relation_score=relation_score,
            decided=understood,
            linked=self._linked(heads[0]),
        )

    def _stated(
        self,
        heads: Sequence[Head],
        wording: str,
        ranked: Sequence[PropertyMatch],
        time: TimeConstraint | None,
        level: Level | None,
        request: Request,
        cancellation: Cancellation,
    ) -> Retrieval | None:
        """What is stated of the first of the heads that has what is asked for; None if none has.

        The bearers of a last name are looked for only where nothing else of that name has it.
        """

        def by_last_name() -> Iterator[Head]:
            if not taken:
                yield from self._heads.bearers(request.arguments[0], heads[0])

        taken: list[tuple[Head, Retrieval]] = []
        for candidate in chain(heads, by_last_name()):
            if taken and taken[0][0].score - candidate.score > _EQUAL:
                break
            cancellation.check()
            chosen = self._selector.select(candidate.iri, wording, ranked, time, request.question)
            if chosen:
                found: Retrieval | None = self._answer(candidate, chosen, request, time, level, cancellation)
            else:
                found = self._values_above(candidate, level, ranked, request)
            if found is not None:
                taken.append((candidate, found))
        return self._disambiguated(taken, heads) if taken else None

    def _ordered(self, heads: Sequence[Head], wording: str, request: Request) -> Retrieval | None:
        """ "First president": of the values of what is surely a relation the one that the evidence's order gives."""
        rest, order = requested_order(wording)
        ranked = self._matcher.rank(rest, "", request.arguments[0].text) if order is not None else []
        for head in heads:
            for match in (match for match in ranked if match.score >= SURE):
                if order is not None and self._graph.has(head.iri, match.property, inverse=match.inverse):
                    return ordered_values(self._graph, head.iri, match, order, head.score, request)
        return None

    def _of_class(self, head: Head, wording: str, request: Request) -> Retrieval | None:
        """ "Lakes" of Africa, "films" of a director: things of the class that lie in the head or have it as a value."""

        def asked(properties: Sequence[str]) -> tuple[str | None, bool]:
            paths = {(prop, True) for prop in properties}
            ranked = self._matcher.match_question(request.question, paths) if request.question else []
            return ranked[0].property if ranked else None, clear_match(ranked) is not None

        counting = read_question(request.question).counts
        classes, link, query = self._classes, head.score, request.query
        return classes.lying_in(head.iri, link, wording, query, counting=counting) or classes.pointing_to(
            head.iri, link, wording, query, asked, counting=counting
        )

    def _disambiguated(self, taken: Sequence[tuple[Head, Retrieval]], heads: Sequence[Head]) -> Retrieval:
        """The first of what entities of one name have. Where one alone has what is asked for, that tells it from the
        others; where several have it, the choice is a guess and said to be one."""
        head, found = taken[0]
        valued = [(other, item) for other, item in taken if item.values]
        equals = [other for other in heads if abs(other.score - heads[0].score) <= _EQUAL]
        if len(valued) > 1 and len({item.values for _, item in valued}) > 1:
            names = ", ".join(self._graph.label(other.iri) for other, _ in valued[:_RELATE_SHOWN])
            note = f"the name may mean any of {names}; {self._graph.label(head.iri)} was taken"
            link = head.score if head.tied > 1 else head.score * tie_factor(len(valued))
            return replace(found, link_score=round(link, 4), dropped=(*found.dropped, note))
        if head.tied > 1 and found.values and len(equals) == head.tied:
            return replace(found, link_score=round(min(_BY_RELATION, head.score / tie_factor(head.tied)), 4))
        return found

    def _read_as_entity_or_count(
        self, heads: Sequence[Head], request: Request, is_entity: bool, cancellation: Cancellation
    ) -> Retrieval | None:
        """The relation read as an entity, or as the number of something's values."""
        between = self._between(heads, request.arguments[1], request, is_entity)
        return between if between is not None or is_entity else self._counted(request, cancellation)

    def _ranked(self, wording: str, level: Level | None, question: str, head: str) -> tuple[str, list[PropertyMatch]]:
        """The wording with the matcher's ranking; "country of birth" is "place of birth" where no property is called
        so."""
        ranked = self._matcher.rank(wording, question, head)
        if level is None or not level.place_wording:
            return wording, ranked
        of_places = self._matcher.rank(level.place_wording, head=head)
        if of_places and (not ranked or of_places[0].score > ranked[0].score):
            return level.place_wording, of_places
        return wording, ranked

    def _counted(self, request: Request, cancellation: Cancellation) -> Retrieval | None:
        """ "Number of children": how many values "children" has, where no property states the number."""
        head, relation = request.arguments[0], request.arguments[1]
        wording = read_question(relation.text).number_of
        if not wording:
            return None
        question = request.question or f"How many {wording}?"
        asked = replace(request, arguments=(head, Value(wording)), question=question)
        counted = self.run(asked, cancellation)
        sure = (counted.relation_score or 0.0) >= _COUNTED  # a number cannot be seen to be of something else
        return counted if sure and any(value.kind is ValueKind.NUMBER for value in counted.values) else None

    def _answer(
        self,
        head: Head,
        chosen: Sequence[PropertyMatch],
        request: Request,
        time: TimeConstraint | None,
        level: Level | None,
        cancellation: Cancellation,
    ) -> Retrieval:
        at_level = level is not None and all(self._containment.applies(level, match) for match in chosen)
        counting = read_question(request.question).counts and chosen[0].score >= _COUNTED
        # What has more values than a page is counted in the store, and the others need not be read.
        in_store = counting and time is None and not at_level and can_count(self._graph, chosen)
        found = self._followed(head, chosen, request, time, cancellation, first_only=in_store)
        if in_store and found.cut and not countable(found.values, chosen):
            found = self._followed(head, chosen, request, time, cancellation)
        values, whole = distinct_values(found.values), not found.dropped
        if all(match.inverse for match in chosen) and not read_question(request.question).counts:
            # A property says itself of what kind its values are; what points to the head may be of any.
            pattern = values_pattern(head.iri, chosen)
            values, others = self._classes.kept(values, request.arguments[1].text, pattern, cancellation)
            found.dropped += [others] if others else []
        if level is not None and values and at_level:
            values = self._at_level(values, level, request, found)
            if not values:
                # Where the place lies is not known here; what is known of it may help a reader.
                return Retrieval(tuple(found.evidence), (), head.score, chosen[0].score, linked=self._linked(head))
        elif counting and countable(values, chosen):
            if found.cut and time is None:
                values = self._count_in_store(values, head, chosen, request, found)
            elif whole:
                values = self._count(values, head, chosen[0], request, found)
        return Retrieval(
            evidence=tuple(found.evidence),
            values=tuple(values),
            link_score=head.score,
            relation_score=chosen[0].score,
            # Statements of other times than the one asked for do not say that there is no answer.
            decided=bool(values) or time is None,
            dropped=tuple(found.dropped),
            linked=self._linked(head),
        )

    def _followed(
        self,
        head: Head,
        chosen: Sequence[PropertyMatch],
        request: Request,
        time: TimeConstraint | None,
        cancellation: Cancellation,
        *,
        first_only: bool = False,
    ) -> FollowedValues:
        found = FollowedValues()
        for match in chosen:
            if time is None or not self._follower.follow_at(time, head, match, request, found):
                self._follower.follow(head, match, request, found, cancellation, first_only=first_only)
        return found

    def _linked(self, head: Head) -> Value:
        return self._graph.entity_value(head.iri, head.score)

    def _at_level(self, places: Sequence[Value], level: Level, request: Request, found: FollowedValues) -> list[Value]:
        """What of the level contains the places; the places themselves where only the question asks for the level
        and the graph does not say what they are."""
        values: list[Value] = []
        for place in places:
            if place.iri is None:
                continue
            containing = self._containment.containing(place.iri, level)
            if containing is None:
                if not level.said and not self._graph.types(place.iri):
                    values.append(place)
                continue
            values += [self._graph.entity_value(iri, place.score) for iri in containing.places]
            found.evidence += self._steps(containing.steps, place.score or 0.0, request)
        return distinct_values(values)

    def _steps(self, steps: Sequence[Statement], score: float, request: Request) -> list[Evidence]:
        graph = self._graph
        pairs = dict.fromkeys((step.subject, step.property) for step in steps)
        return [
            graph.labelled(f"{bound(subject)} {bound(prop)} ?value .").evidence(
                graph.label(subject),
                " ".join(graph.sentence(step) for step in steps if (step.subject, step.property) == (subject, prop)),
                score,
                request.query,
            )
            for subject, prop in pairs
        ]

    def _values_above(
        self, head: Head, level: Level | None, ranked: Sequence[PropertyMatch], request: Request
    ) -> Retrieval | None:
        """The country or continent of what contains the head, where the head has none of its own."""
        if level is None or not ranked:
            return None
        stating = [match for match in ranked if self._containment.states(level, match)]
        if not stating or ranked[0].score - stating[0].score > _BEHIND_BEST:
            return None
        containing = self._containment.containing(head.iri, level)
        if containing is None or not containing.steps:
            return None
        score = round(head.score * stating[0].score, 4)
        values = tuple(self._graph.entity_value(iri, score) for iri in containing.places)
        evidence = tuple(self._steps(containing.steps, score, request))
        return Retrieval(evidence, values, head.score, stating[0].score, decided=True, linked=self._linked(head))

    def _count(
        self, values: Sequence[Value], head: Head, match: PropertyMatch, request: Request, found: FollowedValues
    ) -> list[Value]:
        """How many values there are of the kind asked for, in the values' place."""
        label, name = self._graph.property_label(match.property), self._graph.label(head.iri)
        last = found.evidence[-1]
        types = self._graph.types_of([value.iri for value in values if value.iri is not None])
        of_kind, kind = counted(values, request.question, lambda iri: list(map(self._graph.label, types[iri])))
        without = f", without {len(values) - len(of_kind)} not of the kind '{kind}'" if kind else ""
        listed = f"{last.text} {name} — {label}: {len(of_kind)} in all{without}."
        found.evidence[-1] = replace(last, text=listed)
        return [Value(str(len(of_kind)), ValueKind.NUMBER, None, values[0].score)]

    def _count_in_store(
        self,
        values: Sequence[Value],
        head: Head,
        chosen: Sequence[PropertyMatch],
        request: Request,
        found: FollowedValues,
    ) -> list[Value]:
        """How many values there are, of which only the first were read; those where they cannot be counted."""
        counted = count_values(self._graph, head.iri, chosen, request.question)
        if counted is None:
            return list(values)
        label, name = self._graph.property_label(chosen[0].property), self._graph.label(head.iri)
        without = f", without {counted.total - counted.number} not of the kind '{counted.kind}'" if counted.kind else ""
        text = f"{name} — {label}: {counted.number} in all{without}."
        score = values[0].score or 0.0
        found.evidence.append(counted.answer.evidence(name, text, score, request.query))
        found.dropped = [f"of {counted.total} values of {label} the first {len(values)} were read; all were counted"]
        return [Value(str(counted.number), ValueKind.NUMBER, None, values[0].score)]

    def _between(self, heads: Sequence[Head], other: Value, request: Request, is_entity: bool) -> Retrieval | None:
        """The relations between head and `other`, or None if `other` seems to be no entity."""
        tails = self._heads.candidates(other, request.question, fuzzy=is_entity)
        if not is_entity:
            tails = [tail for tail in tails if tail.score >= SURE]
        values: list[Value] = []
        evidence: list[Evidence] = []
        for head in heads:
            for tail in tails:
                score = round(head.score * tail.score, 4)
                for one, two in ((head.iri, tail.iri), (tail.iri, head.iri)):
                    if not self._graph.statements(one, tail=two, limit=1):
                        continue
                    answer = self._graph.select(
                        f"SELECT DISTINCT ?relation WHERE {{ {bound(one)} ?relation {bound(two)} . }}"
                    )
                    labels = []
                    for row in answer.rows:
                        label = self._graph.property_label(row["relation"])
                        labels.append(label)
                        values.append(Value(label, ValueKind.RELATION, row["relation"], score))
                    names = self._graph.label(one), self._graph.label(two)
                    text = f"{names[0]} — {', '.join(labels)}: {names[1]}."
                    evidence.append(answer.evidence(names[0], text, score, request.query))
                if values:
                    return Retrieval(
                        tuple(evidence), tuple(distinct_values(values)), head.score, tail.score, decided=True,
                        linked=self._linked(head),
                    )  # fmt: skip
        if is_entity and tails:
            return Retrieval(
                link_score=heads[0].score, relation_score=tails[0].score, decided=True, linked=self._linked(heads[0])
            )
        return None
