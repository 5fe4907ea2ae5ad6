"""Whether an entity has a value: of a property, of a class, at a time."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

from atomr_local.language.names import name_key
from atomr_local.language.properties import PROPERTY, SUBCLASS_OF, property_table
from atomr_local.language.question import TimeConstraint, read_question
from atomr_local.language.words import singulars
from atomr_local.sources.graph import conditions
from atomr_local.sources.graph.conditions import ComparisonCheck, ConditionResult
from atomr_local.sources.graph.knowledge_graph import (
    ROW_LIMIT,
    TYPE_PROPERTIES,
    KnowledgeGraph,
    SelectResult,
    Statement,
    bound,
    term_iri,
    value_pattern,
)
from atomr_local.sources.graph.linking import Head, HeadLinker, Linker, retrieved
from atomr_local.sources.graph.properties.matching import SURE, PropertyMatch, PropertyMatcher
from atomr_local.sources.graph.qualified_statements import (
    QualifiedStatements,
    qualified_statements,
)
from atomr_local.sources.protocol import Request, Retrieval, Value, ValueKind
from atomr_local.system.cancellation import Cancellation

_TIE = 0.06
_SAME_VALUE = {"woman": "female", "women": "female", "man": "male", "men": "male"}
_OCCUPATION = PROPERTY + "P106"
_GENDER, _COUNTRIES = PROPERTY + "P21", tuple(PROPERTY + pid for pid in ("P27", "P17", "P495"))
_MOST_DESCRIBED = 5
_MOST_NAMESAKES = 500
# What holds of a place holds of what contains it, and what is an X is whatever X is a kind of.
_PLACE_CLOSURE = tuple(PROPERTY + pid for pid in ("P131", "P17", "P30", "P276", "P361"))
_PLACE_KINDS = frozenset({"place", "country", "city"})
_CLASS_PROPERTIES = (*TYPE_PROPERTIES, _OCCUPATION)


@dataclass(frozen=True, slots=True)
class Wanted:
    """A value that is looked for: keys of what it may be called, and entities of these names."""

    keys: frozenset[str]
    targets: frozenset[str]


class ValueCheck:
    """Decides whether an entity has a value, over one graph. Thread-safe."""

    def __init__(self, graph: KnowledgeGraph, matcher: PropertyMatcher) -> None:
        self._graph = graph
        self._matcher = matcher

    def check(self, head: Head, text: str) -> ConditionResult | None:
        """Whether the entity has the value; the longest wording that is surely a property decides."""
        missing: ConditionResult | None = None
        for cut in conditions.value_cuts(text):
            if not cut.wording:
                verdict = self._exists(head, cut.value) if conditions.demands(text) else None
                return verdict or self._is_something(head, cut.value) or missing
            matches = self._surely(cut.wording)
            verdict = self._has_property_value(head, cut.value, matches) if matches else None
            if verdict is not None and verdict.satisfied is not None:
                return verdict
            missing = missing or verdict
        return missing

    def check_qualified(self, head: Head, text: str) -> ConditionResult | None:
        """ "head of government Ann in 2010", "position held mayor of Berlin": by what qualifies the statements."""
        rest, time = read_question(text).time
        for cut in conditions.value_cuts(rest):
            value, _, of = cut.value.rpartition(" of ")
            readings = [(cut.value, "")] if time is not None else []
            readings += [(value, of)] if value else []
            for match in self._surely(cut.wording) if cut.wording and readings else ():
                statements = qualified_statements(self._graph, head.iri, match.property, inverse=match.inverse)
                if statements is None:
                    continue
                for reading in readings:
                    verdict = self._holds(head, match, statements, reading, time)
                    if verdict is not None:
                        return verdict
        return None

    def _surely(self, wording: str) -> list[PropertyMatch]:
        """The properties that the wording surely means, equally well."""
        sure = [match for match in self._matcher.rank(wording) if match.score >= SURE]
        return [match for match in sure if sure[0].score - match.score <= _TIE]

    def _holds(
        self,
        head: Head,
        match: PropertyMatch,
        statements: QualifiedStatements,
        reading: tuple[str, str],
        time: TimeConstraint | None,
    ) -> ConditionResult | None:
        """Whether a statement has the value, of what is said, at the time; None if none has the value at all."""
        value, of = reading
        wanted, of_targets = self._wanted(value), self._wanted(of).targets
        named = [item for item in statements.found if not of or not of_targets.isdisjoint(item.of)]
        found = self._matching(head, match, statements.answer_of(named), wanted)
        if found is None:
            return None
        held = named if time is None else [item for item in statements.at(time) if item in named]
        answer = statements.answer_of(held)
        satisfied = self._matching(head, match, answer, wanted) is not None
        shown = sorted({item.shown() for item in held or named if item.shown()})
        sentence = self._statement_sentence(head, match, answer, f"{found}{' of ' + of if of else ''}").rstrip(".")
        return ConditionResult(satisfied, match.score, ((f"{sentence} ({', '.join(shown)}).", answer),))

    def _exists(self, head: Head, wording: str) -> ConditionResult | None:
        """Whether the entity has any value of the property; its absence proves nothing."""
        for match in self._matcher.rank(wording):
            if match.score < SURE:
                return None
            answer = self._values(head, match)
            if answer.terms:
                return self._result(True, head, match, answer)
        return None

    def _result(
        self, satisfied: bool, head: Head, match: PropertyMatch, answer: SelectResult, found: str | None = None
    ) -> ConditionResult:
        """What the property's values tell; `found`: the one that decides, None if all do."""
        sentence = self._statement_sentence(head, match, answer, found)
        return ConditionResult(satisfied, match.score, ((sentence, answer),))

    def _has_property_value(self, head: Head, value: str, matches: Sequence[PropertyMatch]) -> ConditionResult | None:
        wanted = self._wanted(value)
        reasons: list[tuple[str, SelectResult]] = []
        unread = False  # a value that no entity is called by, beyond those that were read
        for match in matches:
            answer, found = self._find(head, match, wanted)
            unread = unread or (answer.cut and not wanted.targets)
            if not answer.terms:
                continue
            if found is None and (described := self._described(head, match, answer, value)) is not None:
                return described
            reasons.append((self._statement_sentence(head, match, answer, found), answer))
            if found is not None:
                return ConditionResult(True, match.score, (reasons[-1],))
        if not reasons:
            reasons = self._others(matches, wanted.targets)
        return ConditionResult(False if reasons and not unread else None, matches[0].score, tuple(reasons))

    def _described(self, head: Head, match: PropertyMatch, answer: SelectResult, value: str) -> ConditionResult | None:
        """ "Creator is Spanish", "director is a woman": what the property's values are, by country or by gender."""
        bare = name_key(value).removeprefix("the ").removeprefix("a ").removeprefix("an ")
        gender = bare in _SAME_VALUE or bare in _SAME_VALUE.values()
        if not gender and bare not in property_table().countries:
            return None
        wanted = self._wanted(bare)
        reasons: list[tuple[str, SelectResult]] = []
        for iri in [iri for row in answer.terms[:_MOST_DESCRIBED] if (iri := term_iri(row["value"])) is not None]:
            for prop in (_GENDER,) if gender else _COUNTRIES:
                value_head, of_value = Head(iri, 1.0), self._property(prop, match.score)
                stated = self._values(value_head, of_value)
                found = self._matching(value_head, of_value, stated, wanted)
                if stated.terms:
                    reasons.append((self._statement_sentence(head, match, answer, self._graph.label(iri)), answer))
                    reasons.append((self._statement_sentence(value_head, of_value, stated, found), stated))
                if found is not None:
                    return ConditionResult(True, match.score, tuple(reasons[-2:]))
        if not reasons and match.kind != "person":
            return None  # "official language is French"
        # A person of whom nothing is known may be of any country.
        return ConditionResult(False if reasons else None, match.score, tuple(reasons))

    def _others(self, matches: Sequence[PropertyMatch], targets: frozenset[str]) -> list[tuple[str, SelectResult]]:
        """Whom the target has instead, where the entity would have to be its value ("capital of France")."""
        for match in matches:
            for target in sorted(targets) if match.inverse else ():
                turned = replace(match, inverse=False)
                answer = self._values(Head(target, 1.0), turned)
                if answer.terms:
                    return [(self._statement_sentence(Head(target, 1.0), turned, answer, None), answer)]
        return []

    def _find(self, head: Head, match: PropertyMatch, wanted: Wanted) -> tuple[SelectResult, str | None]:
        """The property's values, and the text of the one that is meant, by its name or as a part or kind of it.

        Of a hub what is meant is looked for in the store where names decide alone; else its values are read up to the
        page that has what is meant. Evidence shows the first.
        """
        first: SelectResult | None = None
        for page in self._graph.value_pages(head.iri, match.property, inverse=match.inverse):
            if first is None and page.cut:
                meant, decided = self._in_store(head, match, wanted)
                if meant is not None:
                    return meant
                if decided:
                    first = replace(page, cut=False)
                    break
            first = replace(first or page, cut=page.cut)
            found = self._matching(head, match, page, wanted)
            if found is not None:
                return first, found
        assert first is not None  # there is at least one page
        return (self._within(head, match, wanted.targets) if first.terms else None) or (first, None)

    def _in_store(
        self, head: Head, match: PropertyMatch, wanted: Wanted
    ) -> tuple[tuple[SelectResult, str] | None, bool]:
        """The value that is meant, looked for by the names of all entities, and whether the search decides: without it,
        a value that was not found may still be there."""
        found = self._among(head, match, wanted.targets)
        if found is not None:
            return found, True
        named = self._named_so(head, match, wanted.keys)
        return (None, False) if named is None else (self._among(head, match, named - wanted.targets), True)

    def _among(self, head: Head, match: PropertyMatch, iris: Collection[str]) -> tuple[SelectResult, str] | None:
        """The value that is one of these entities, if one is."""
        if not iris:
            return None
        pattern = value_pattern(head.iri, match.property, inverse=match.inverse)
        answer = self._graph.labelled(f"VALUES ?value {{ {' '.join(map(bound, sorted(iris)))} }} {pattern}")
        if not answer.values:
            return None
        iri, label = answer.values[0]
        return answer, label or self._graph.label(iri or "")

    def _named_so(self, head: Head, match: PropertyMatch, keys: frozenset[str]) -> set[str] | None:
        """The entities that :meth:`_matching` would take for what is meant if they were values; None if they are too
        many, or if values of the property may be literals."""
        names, row = self._graph.names, self._graph.properties.get(match.property)
        if not match.inverse and (row is None or row.uses > row.entities):
            return None
        rows = names.by_keys(sorted(_written_as(keys)), limit=_MOST_NAMESAKES)
        if len(rows) == _MOST_NAMESAKES:
            return None
        found = {row.entity.iri for row in rows}
        for key in keys:
            if (ending := names.ending(key, limit=_MOST_NAMESAKES)) is None:
                return None
            found.update(ending)
        if not match.inverse:
            ends = tuple(f" {key}" for key in keys)
            for term, text in names.texts_of_property(head.iri, match.property).items():
                written = name_key(text)
                if written.endswith(ends) or not keys.isdisjoint(_keys_of(written)):
                    found.add(term[1:-1])
        return found

    def _matching(self, head: Head, match: PropertyMatch, answer: SelectResult, wanted: Wanted) -> str | None:
        """The text of the value that is meant, or None."""
        graph = self._graph
        values = graph.answer_values(answer, head.iri, match.property, inverse=match.inverse)
        known = graph.names.keys_of([value.iri for value in values if value.iri is not None])
        keys, endings = wanted.keys, tuple(f" {key}" for key in wanted.keys)
        for value in values:
            if value.iri is not None and value.iri in wanted.targets:
                return value.text
            names = known.get(value.iri or "", [])
            of_names = [key for _, key in names]
            if value.text not in (name for name, _ in names):
                of_names.append(name_key(value.text))
            if any(not keys.isdisjoint(_keys_of(key)) for key in of_names):
                return value.text
            if value.iri is not None and any(key.endswith(endings) for key in of_names):
                return value.text  # a surname
        return None

    def _within(self, head: Head, match: PropertyMatch, targets: Iterable[str]) -> tuple[SelectResult, str] | None:
        """Whether a value lies in, or is a kind of, one of the targets."""
        if match.inverse:
            return None
        if match.kind in _PLACE_KINDS:
            closure = "|".join(bound(iri) for iri in _PLACE_CLOSURE)
        elif match.property in _CLASS_PROPERTIES:
            closure = bound(SUBCLASS_OF)
        else:
            return None
        for target in sorted(targets):
            pattern = (
                f"VALUES ?value {{ {bound(target)} }} {bound(head.iri)} {bound(match.property)}/({closure})+ ?value ."
            )
            answer = self._graph.labelled(pattern)
            if answer.terms:
                return answer, self._graph.label(target)
        return None

    def _statement_sentence(self, head: Head, match: PropertyMatch, answer: SelectResult, found: str | None) -> str:
        graph = self._graph
        label = graph.property_label(match.property)
        if found is not None:
            texts = [found]
        else:
            iris = [(row["value"], term_iri(row["value"])) for row in answer.terms[:5]]
            texts = [
                graph.label(iri) if iri is not None else graph.value(Statement(head.iri, match.property, term)).text
                for term, iri in iris
            ]
        name, shown = graph.label(head.iri), ", ".join(texts)
        return f"{name} is the {label} of: {shown}." if match.inverse else f"{name} — {label}: {shown}."

    def _is_something(self, head: Head, value: str) -> ConditionResult | None:
        """ "a film", "female", "American": a type first, then any value that is written so."""
        graph = self._graph
        wanted = self._wanted(value, *singulars(value))
        known: list[tuple[str, SelectResult]] = []
        for prop in _CLASS_PROPERTIES:
            match = PropertyMatch(prop, False, 0.95, "type")
            answer, found = self._find(head, match, wanted)
            if found is not None:
                return self._result(True, head, match, answer, found)
            if answer.terms:
                known.append((self._statement_sentence(head, match, answer, None), answer))
        read = graph.statements(head.iri)
        for statement in read:
            match = self._property(statement.property)
            names = [graph.value(statement).text]
            iri = term_iri(statement.object)
            names += graph.names.names_of(iri) if iri is not None else []
            called_so = any(not wanted.keys.isdisjoint(value_keys(name)) for name in names)
            if called_so or (iri is not None and iri in wanted.targets):
                return self._result(True, head, match, self._values(head, match), names[0])
        if len(read) == ROW_LIMIT and wanted.targets:
            among = " ".join(map(bound, sorted(wanted.targets)))
            meant = graph.select(
                f"SELECT ?property ?value WHERE {{ VALUES ?value {{ {among} }} {bound(head.iri)} ?property ?value . }}"
            )
            if meant.rows:
                prop, iri = meant.rows[0]["property"], meant.rows[0]["value"]
                return self._result(True, head, self._property(prop), meant, graph.label(iri))
        return self._sibling_value(head, wanted.keys, known)

    def _sibling_value(
        self, head: Head, keys: frozenset[str], known: Sequence[tuple[str, SelectResult]]
    ) -> ConditionResult | None:
        """False if the entity has another value of the property that such a value belongs to."""
        graph = self._graph
        for candidate in sorted(self._iris_of(keys)):
            for use in graph.statements(tail=candidate, limit=20):
                if use.property in TYPE_PROPERTIES:
                    if known:
                        return ConditionResult(False, 0.95, tuple(known))
                    continue
                match = self._property(use.property)
                answer = self._values(head, match)
                if answer.terms:
                    return self._result(False, head, match, answer)
        return None

    def _property(self, prop: str, score: float = 0.9) -> PropertyMatch:
        return PropertyMatch(prop, False, score, self._matcher.kind(prop))

    def _wanted(self, *texts: str) -> Wanted:
        """The value that may be written so; entities by their names exactly."""
        keys = frozenset[str]().union(*map(value_keys, texts))
        return Wanted(keys, self._iris_of(keys) if any(texts) else frozenset())

    def _iris_of(self, keys: Iterable[str]) -> frozenset[str]:
        return frozenset(row.entity.iri for key in keys for row in self._graph.names.by_key(key, limit=20))

    def _values(self, head: Head, match: PropertyMatch) -> SelectResult:
        return self._graph.first_values(head.iri, match.property, inverse=match.inverse)


def value_keys(text: str) -> frozenset[str]:
    """The key of a value, and those of the countries that it may be an adjective of."""
    return _keys_of(name_key(text))


def _keys_of(key: str) -> frozenset[str]:
    bare = key.removeprefix("the ")
    return frozenset({key, bare, _SAME_VALUE.get(bare, key)}) | property_table().countries.get(bare, frozenset())


def _written_as(keys: frozenset[str]) -> set[str]:
    """Keys of names that mean one of these: :func:`_keys_of` turned round."""
    bare = keys.union(key for key, same in _SAME_VALUE.items() if same in keys)
    bare |= {key for key, countries in property_table().countries.items() if not keys.isdisjoint(countries)}
    return {name for key in bare for name in (key, f"the {key}")}


# Filter: whether one entity satisfies a condition, decided on the statements of the graph.

_LONGEST = 400
_MOST_PARTS = 60


class Filter:
    """The operator over one graph, one entity at a time. Thread-safe."""

    def __init__(self, graph: KnowledgeGraph, linker: Linker, matcher: PropertyMatcher) -> None:
        self._graph = graph
        self._heads = HeadLinker(graph, linker)
        self._comparisons = ComparisonCheck(graph, matcher)
        self._values = ValueCheck(graph, matcher)

    def run(self, request: Request, cancellation: Cancellation) -> Retrieval:
        if len(request.arguments) < 2:
            return Retrieval()
        entity, condition = request.arguments[0], request.arguments[1]
        heads = self._heads.candidates(entity, request.question)
        if not heads:
            return Retrieval(link_score=0.0)
        relation = 0.0
        for head in heads:
            verdict = _Decision(self, head, cancellation).of(condition.text)
            if verdict is not None and verdict.satisfied is not None:
                return self._retrieval(head, entity, verdict, request)
            if verdict is not None and verdict.reasons:
                relation = verdict.score
        return retrieved(self._graph, heads[0], relation, decided=False)

    def _retrieval(self, head: Head, entity: Value, verdict: ConditionResult, request: Request) -> Retrieval:
        name = self._graph.label(head.iri)
        score = round(head.score * verdict.score, 4)
        evidence = [answer.evidence(name, sentence, score, request.query) for sentence, answer in verdict.reasons]
        kept = [Value(entity.text, ValueKind.ENTITY, head.iri, score)] if verdict.satisfied else []
        return retrieved(self._graph, head, verdict.score, evidence, kept)

    def readings(self, head: Head, text: str) -> Iterator[ConditionResult | None]:
        """What comes of the condition as one, by each way to read it: as a value at a time, as a comparison, as a
        value. The first that says anything stands."""
        if self._graph.has_qualifiers:
            yield self._values.check_qualified(head, text)
        if (compare := conditions.comparison(text)) is not None:
            yield self._comparisons.check(head, compare)
        yield self._values.check(head, text)


class _Decision:
    """Decides conditions, whole or by their parts, for one entity."""

    def __init__(self, by: Filter, head: Head, cancellation: Cancellation) -> None:
        self._filter = by
        self._head = head
        self._cancellation = cancellation
        self._decided: dict[str, ConditionResult | None] = {}

    def of(self, text: str) -> ConditionResult | None:
        """None: the condition is not understood."""
        self._cancellation.check()
        text, decided = " ".join(text.split()), self._decided
        if text not in decided:
            if not text or len(text) > _LONGEST or len(decided) >= _MOST_PARTS or conditions.is_superlative(text):
                return None
            decided[text] = None  # a part that leads back to itself is not understood
            decided[text] = self._undivided(text)
        return decided[text]

    def _undivided(self, text: str) -> ConditionResult | None:
        """The condition as one, and where that says nothing, by its parts."""
        positive = conditions.negated(text)
        if positive is not None:
            verdict = self.of(positive)
            return verdict and replace(verdict, satisfied=None if verdict.satisfied is None else not verdict.satisfied)
        verdict = next((found for found in self._filter.readings(self._head, text) if found is not None), None)
        if verdict is not None and verdict.satisfied:
            return verdict
        for left, connective, right in conditions.parts(text):
            if (joined := self._both(left, right, connective)) is not None:
                return joined
        described = conditions.described(text) if verdict is None or verdict.satisfied is None else None
        return (self._both(*described, "and") if described is not None else None) or verdict

    def _both(self, left: str, right: str, connective: str) -> ConditionResult | None:
        one = self.of(left)
        two = self.of(right) if one is not None else None
        if one is None or two is None:
            return None
        results = (one.satisfied, two.satisfied)
        deciding, otherwise = (True, False) if connective == "or" else (False, True)
        satisfied = deciding if deciding in results else None if None in results else otherwise
        return ConditionResult(satisfied, min(one.score, two.score), one.reasons + two.reasons)
