"""Relate: one hop from a head entity: to its tails, to a literal, or to what relates it to another entity."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from itertools import chain

from atomr_local.indexing.graph_index.statements.terms import shown_name
from atomr_local.language.names import name_key
from atomr_local.language.properties import PROPERTY, SUBCLASS_OF
from atomr_local.language.question import read_question
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
from atomr_local.sources.graph.linking import Head, HeadLinker, Linker, retrieved, tie_factor
from atomr_local.sources.graph.properties.matching import SURE, UNDERSTOOD, PropertyMatch, PropertyMatcher
from atomr_local.sources.graph.properties.selection import PropertySelector, clear_match
from atomr_local.sources.graph.qualified_statements import requested_time
from atomr_local.sources.graph.relate.values import (
    Asked,
    Containment,
    FollowedValues,
    Level,
    PropertyFollower,
    ValueCount,
    can_count,
    count_values,
    countable,
    counted,
    distinct_values,
    first_of,
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


@dataclass(frozen=True, slots=True)
class NamedClass:
    """Attributes: name: as the wording has it, in the singular; iris: classes of this name."""

    name: str
    iris: frozenset[str]


class ClassMembers:
    """Reads classes out of wordings, over one graph. Thread-safe."""

    def __init__(self, graph: KnowledgeGraph, matcher: PropertyMatcher) -> None:
        self._graph = graph
        self._matcher = matcher
        self._types = "|".join(map(bound, graph.type_properties))
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
        query = f"VALUES ?class {{ {classes} }} ?value ({self._types}) {bound(iri)} . ?value ({self._types}) ?class ."
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
        if not self._types:
            return frozenset()
        typed = f"{pattern}\n  ?value {self._types} ?type ."
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

    def of_head(self, asked: Asked) -> Retrieval | None:
        """What is of the class that the wording names and lies in the first head, else what has it as a value: "lakes"
        of Africa, "films" of a director. None if the wording names no class, or nothing is."""
        named = self.named(asked.wording)
        if named is None:
            return None
        found = self._listed(asked, named, self._lying_in(asked.heads[0].iri, named), SURE)
        return found or self._pointing_to(asked, named)

    def _lying_in(self, head: str, named: NamedClass) -> str:
        """The pattern of what is of the class and lies in the head, by whatever steps; a thing whose own country or
        continent is stated lies nowhere else."""
        within = "|".join(map(bound, _LIES_IN))
        lines = [self._things(named), f"?value ({within})+ {bound(head)} ."]
        for prop in map(bound, _STATED):
            if self._graph.statements(prop=prop[1:-1], tail=head, limit=1):
                lines.append(
                    f"FILTER(EXISTS {{ ?value {prop} {bound(head)} }} || NOT EXISTS {{ ?value {prop} ?other }})"
                )
        return "\n  ".join(lines)

    def _pointing_to(self, asked: Asked, named: NamedClass) -> Retrieval | None:
        """What is of the class and has the head as a value, of several properties of the one that is asked for."""
        head = bound(asked.heads[0].iri)
        found = self._graph.select(
            f"SELECT ?property (COUNT(DISTINCT ?value) AS ?count) WHERE {{\n  {self._things(named)}\n"
            f"  ?value ?property {head} .\n}} GROUP BY ?property"
        )
        counts = {row["property"]: int(row["count"]) for row in found.rows if "property" in row}
        counts = {prop: count for prop, count in counts.items() if prop not in TYPE_PROPERTIES}
        if not counts:
            return None
        prop, clear = max(counts, key=lambda one: (counts[one], one)), len(counts) == 1
        question = asked.request.question
        if not clear and question:
            ranked = self._matcher.match_question(question, {(one, True) for one in counts})
            prop, clear = ranked[0].property if ranked else prop, clear_match(ranked) is not None
        pattern = f"{self._things(named)}\n  ?value {bound(prop)} {head} ."
        return self._listed(asked, named, pattern, SURE if clear else UNDERSTOOD)

    def _things(self, named: NamedClass) -> str:
        """The pattern of what is of the class, or of a kind of it."""
        classes = " ".join(map(bound, sorted(named.iris)))
        return f"VALUES ?class {{ {classes} }}\n  ?value ({self._types})/{bound(SUBCLASS_OF)}* ?class ."

    def _listed(self, asked: Asked, named: NamedClass, pattern: str, relation: float) -> Retrieval | None:
        graph, head, query = self._graph, asked.heads[0], asked.request.query
        # Members are not read in pages: the order in which a join gives them is not the same every time.
        answer = graph.labelled(pattern, FIRST_PAGE if asked.counts else VALUE_LIMIT)
        score = round(head.score * relation, 4)
        known = {iri: label or shown_name(iri) for iri, label in answer.values if iri}
        if not known:
            return None
        values = [Value(label, ValueKind.ENTITY, iri, score) for iri, label in known.items()]
        values.sort(key=lambda value: value.text)
        name = graph.label(head.iri)
        text = f"{name} — {named.name}: {', '.join(first_of(values, ROW_LIMIT))}."
        dropped = [f"more than {VALUE_LIMIT}: the rest were left out"] if answer.cut else []
        evidence = [answer.evidence(name, text, score, query)]
        if asked.counts:
            number = len(values)
            if answer.cut:
                number, counting = graph.count(pattern)
                evidence.append(counting.evidence(name, f"{name} — {named.name}: {number} in all.", score, query))
                dropped = [f"of {number} the first {len(values)} were read; all were counted"]
            else:
                evidence = [replace(evidence[0], text=f"{text} {number} in all.")]
            values = [Value(str(number), ValueKind.NUMBER, None, score)]
        return retrieved(graph, head, relation, evidence, values, dropped)


_BEHIND_BEST = 0.22
_EQUAL = 0.02
# How surely an entity is meant that alone of its namesakes has what is asked for.
_BY_RELATION = 0.9
_RELATE_SHOWN = 12
_COUNTED = 0.6

Reading = Callable[[Asked], Retrieval | None]
"""One way to take the wording of a relation; None where it does not apply or gives nothing."""


class Relate:
    """The operator over one graph. Thread-safe.

    A wording can be read in several ways: as a relation, as another entity, as the number of something, as one of
    several in time, as a class. The readings are tried in turn, and the first that answers stands.
    """

    def __init__(self, graph: KnowledgeGraph, linker: Linker, matcher: PropertyMatcher) -> None:
        self._graph = graph
        self._heads = HeadLinker(graph, linker)
        self._matcher = matcher
        self._selector = PropertySelector(graph, matcher)
        self._containment = Containment(graph, linker)
        self._follower = PropertyFollower(graph)
        self._classes = ClassMembers(graph, matcher)

    def run(self, request: Request, cancellation: Cancellation) -> Retrieval:
        if len(request.arguments) < 2:
            return Retrieval()
        heads = self._heads.candidates(request.arguments[0], request.question)
        if not heads:
            return Retrieval(link_score=0.0)
        asked = self._asked(request, heads, cancellation)
        cancellation.check()
        for reading in self._readings(asked):
            found = reading(asked)
            if found is not None:
                return found
        return retrieved(self._graph, heads[0], asked.ranked[0].score if asked.sure else 0.0, decided=asked.sure)

    def _asked(self, request: Request, heads: Sequence[Head], cancellation: Cancellation) -> Asked:
        head, relation = request.arguments[0].text, request.arguments[1]
        wording, question = relation.text, request.question
        if relation.iri is not None or relation.kind is ValueKind.ENTITY:
            return Asked(request, heads, wording, cancellation, is_entity=True)
        time = None
        if self._graph.has_qualifiers:
            wording, time = requested_time(wording, question, head)
        level, ranked = requested_level(wording, question), self._matcher.rank(wording, question, head)
        of_places = self._matcher.rank(level.place_wording, head=head) if level and level.place_wording else []
        asked = Asked(request, heads, wording, cancellation, time=time, level=level, relation=wording, ranked=ranked)
        if level and of_places and (not ranked or of_places[0].score > ranked[0].score):
            # "Country of birth" is "place of birth" where no property is called so.
            return replace(asked, relation=level.place_wording, ranked=of_places)
        return asked

    def _readings(self, asked: Asked) -> Iterator[Reading]:
        """The readings, the likeliest first. A wording that is surely a relation is read as nothing else, but for a
        class where the head has no such relation."""
        plain = not asked.is_entity and asked.time is None
        if not asked.sure:
            yield self._between
            if not asked.is_entity:
                yield self._counted
            if plain:
                yield self._ordered
        stated_first = asked.sure and plain and self._selector.has_named(asked.heads[0].iri, asked.ranked)
        if plain and not stated_first:
            yield self._classes.of_head
        yield self._stated
        if stated_first:
            yield self._classes.of_head

    def _stated(self, asked: Asked) -> Retrieval | None:
        """What is stated of the first of the heads that has what is asked for; None if none has.

        The bearers of a last name are looked for only where nothing else of that name has it.
        """

        def by_last_name() -> Iterator[Head]:
            if not taken:
                yield from self._heads.bearers(asked.request.arguments[0], asked.heads[0])

        taken: list[tuple[Head, Retrieval]] = []
        for head in chain(asked.heads, by_last_name()):
            if taken and taken[0][0].score - head.score > _EQUAL:
                break
            asked.cancellation.check()
            chosen = self._selector.select(head.iri, asked.relation, asked.ranked, asked.time, asked.request.question)
            found = self._answer(asked, head, chosen) if chosen else self._values_above(asked, head)
            if found is not None:
                taken.append((head, found))
        return self._disambiguated(taken, asked.heads) if taken else None

    def _ordered(self, asked: Asked) -> Retrieval | None:
        """ "First president": of the values of what is surely a relation the one that the evidence's order gives."""
        rest, order = requested_order(asked.wording)
        if order is None:
            return None
        ranked = self._matcher.rank(rest, "", asked.request.arguments[0].text)
        for head in asked.heads:
            for match in (match for match in ranked if match.score >= SURE):
                if self._graph.has(head.iri, match.property, inverse=match.inverse):
                    return ordered_values(self._graph, head, match, order, asked.request)
        return None

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

    def _counted(self, asked: Asked) -> Retrieval | None:
        """ "Number of children": how many values "children" has, where no property states the number."""
        request = asked.request
        head, relation = request.arguments[0], request.arguments[1]
        wording = read_question(relation.text).number_of
        if not wording:
            return None
        question = request.question or f"How many {wording}?"
        number = self.run(replace(request, arguments=(head, Value(wording)), question=question), asked.cancellation)
        sure = (number.relation_score or 0.0) >= _COUNTED  # a number cannot be seen to be of something else
        return number if sure and any(value.kind is ValueKind.NUMBER for value in number.values) else None

    def _answer(self, asked: Asked, head: Head, chosen: Sequence[PropertyMatch]) -> Retrieval:
        level, time, graph = asked.level, asked.time, self._graph
        at_level = level is not None and all(self._containment.applies(level, match) for match in chosen)
        counting = asked.counts and chosen[0].score >= _COUNTED
        # What has more values than a page is counted in the store, and the others need not be read.
        in_store = counting and time is None and not at_level and can_count(graph, chosen)
        found = self._follower.follow(asked, head, chosen, first_only=in_store)
        if in_store and found.cut and not countable(found.values, chosen):
            found = self._follower.follow(asked, head, chosen)
        values, whole = distinct_values(found.values), not found.dropped
        if all(match.inverse for match in chosen) and not asked.counts:
            # A property says itself of what kind its values are; what points to the head may be of any.
            pattern = values_pattern(head.iri, chosen)
            values, others = self._classes.kept(values, asked.request.arguments[1].text, pattern, asked.cancellation)
            found.dropped += [others] if others else []
        if level is not None and at_level and values:
            values = self._at_level(asked, level, values, found)
            if not values:
                # Where the place lies is not known here; what is known of it may help a reader.
                return retrieved(graph, head, chosen[0].score, found.evidence, decided=False)
        elif counting and countable(values, chosen) and (whole or (found.cut and time is None)):
            values = self._number(asked, head, chosen, values, found)
        # Statements of other times than the one asked for do not say that there is no answer.
        decided = bool(values) or time is None
        return retrieved(graph, head, chosen[0].score, found.evidence, values, found.dropped, decided=decided)

    def _at_level(self, asked: Asked, level: Level, places: Sequence[Value], found: FollowedValues) -> list[Value]:
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
            found.evidence += self._steps(containing.steps, place.score or 0.0, asked.request)
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

    def _values_above(self, asked: Asked, head: Head) -> Retrieval | None:
        """The country or continent of what contains the head, where the head has none of its own."""
        level, ranked = asked.level, asked.ranked
        stating = [match for match in ranked if level is not None and self._containment.states(level, match)]
        if level is None or not stating or ranked[0].score - stating[0].score > _BEHIND_BEST:
            return None
        containing = self._containment.containing(head.iri, level)
        if containing is None or not containing.steps:
            return None
        score = round(head.score * stating[0].score, 4)
        values = [self._graph.entity_value(iri, score) for iri in containing.places]
        evidence = self._steps(containing.steps, score, asked.request)
        return retrieved(self._graph, head, stating[0].score, evidence, values)

    def _number(
        self, asked: Asked, head: Head, chosen: Sequence[PropertyMatch], values: list[Value], found: FollowedValues
    ) -> list[Value]:
        """How many values there are of the kind asked for, in the values' place. Where only the first were read, all
        are counted in the store; where they cannot be, the values stay."""
        graph, request, score = self._graph, asked.request, values[0].score
        label, name = graph.property_label(chosen[0].property), graph.label(head.iri)
        if found.cut:
            count = count_values(graph, head.iri, chosen, request.question)
            if count is None:
                return values
            found.dropped = [f"of {count.total} values of {label} the first {len(values)} were read; all were counted"]
        else:
            types = graph.types_of([value.iri for value in values if value.iri is not None])
            of_kind, kind = counted(values, request.question, lambda iri: list(map(graph.label, types[iri])))
            count = ValueCount(len(of_kind), len(values), kind)
        without = f", without {count.total - count.number} not of the kind '{count.kind}'" if count.kind else ""
        text = f"{name} — {label}: {count.number} in all{without}."
        if count.answer is not None:
            found.evidence.append(count.answer.evidence(name, text, score or 0.0, request.query))
        else:
            found.evidence[-1] = replace(found.evidence[-1], text=f"{found.evidence[-1].text} {text}")
        return [Value(str(count.number), ValueKind.NUMBER, None, score)]

    def _between(self, asked: Asked) -> Retrieval | None:
        """The relations between the head and another entity: "Relate(Ann, Bob)"; None if the wording seems to be no
        entity."""
        graph, is_entity = self._graph, asked.is_entity
        tails = self._heads.candidates(asked.request.arguments[1], asked.request.question, fuzzy=is_entity)
        if not is_entity:
            tails = [tail for tail in tails if tail.score >= SURE]
        for head in asked.heads:
            for tail in tails:
                score = round(head.score * tail.score, 4)
                values: list[Value] = []
                evidence: list[Evidence] = []
                for one, two in ((head.iri, tail.iri), (tail.iri, head.iri)):
                    if not graph.statements(one, tail=two, limit=1):
                        continue
                    answer = graph.select(
                        f"SELECT DISTINCT ?relation WHERE {{ {bound(one)} ?relation {bound(two)} . }}"
                    )
                    labels = {row["relation"]: graph.property_label(row["relation"]) for row in answer.rows}
                    values += [Value(label, ValueKind.RELATION, iri, score) for iri, label in labels.items()]
                    name = graph.label(one)
                    text = f"{name} — {', '.join(labels.values())}: {graph.label(two)}."
                    evidence.append(answer.evidence(name, text, score, asked.request.query))
                if values:
                    return retrieved(graph, head, tail.score, evidence, distinct_values(values))
        return retrieved(graph, asked.heads[0], tails[0].score) if is_entity and tails else None
