"""Members of a class: "lakes" of Africa, or only the "countries" among the values of a relation.

A wording in the plural may name a class of the graph. Where no relation gives anything, what is of the class and lies
in the head is the answer ("mountains in Asia"); where one does, values that are of another class are left out, and it
is said which.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache

from atomr_local.cancellation import Cancellation
from atomr_local.indexing.graph_index.statements.terms import shown_name
from atomr_local.language.names import name_key
from atomr_local.language.properties import PROPERTY, SUBCLASS_OF
from atomr_local.sources.graph.knowledge_graph import (
    FIRST_PAGE,
    TYPE_PROPERTIES,
    VALUE_LIMIT,
    KnowledgeGraph,
    bound,
    term_iri,
)
from atomr_local.sources.graph.properties.matching import SURE, UNDERSTOOD
from atomr_local.sources.graph.query_results import ROW_LIMIT
from atomr_local.sources.graph.relate.counting import is_other, kind_named
from atomr_local.sources.protocol import Retrieval, Value, ValueKind

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
                for singular in _singulars(last):
                    name = " ".join([*before, singular])
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


def _singulars(word: str) -> list[str]:
    """What the word may be the plural of."""
    if len(word) < 4 or not word.endswith("s") or word.endswith("ss"):
        return []
    found = [word[:-3] + "y"] if word.endswith("ies") else []
    found += [word[:-2]] if word.endswith(("ches", "shes", "sses", "xes", "zes", "oes")) else []
    return [*found, word[:-1]]
