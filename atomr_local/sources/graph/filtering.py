"""Filter: whether one entity satisfies a condition, decided on the statements of the graph."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal

from atomr_local.cancellation import Cancellation
from atomr_local.indexing.literals import Quantity, parse_date, parse_quantity
from atomr_local.indexing.names import name_key
from atomr_local.indexing.spans import Span
from atomr_local.indexing.vocabulary import PROPERTY, SUBCLASS_OF, vocabulary
from atomr_local.sources.graph import conditions
from atomr_local.sources.graph.access import TYPE_PROPERTIES, Answer, Graph, Statement, bound, select_labelled, term_iri
from atomr_local.sources.graph.comparing import bare_number, compare_dates, compare_quantities
from atomr_local.sources.graph.conditions import Compare, HasValue, Range
from atomr_local.sources.graph.linking import Linker
from atomr_local.sources.graph.qualified import Statements, Time, qualified_statements, split_time
from atomr_local.sources.graph.relate import Head, Relate
from atomr_local.sources.graph.relations import SURE, Match, RelationMatcher
from atomr_local.sources.protocol import Evidence, Request, Retrieval, SourceName, Value, ValueKind

_TIE = 0.06
_LONGEST = 400
_SAME_VALUE = {"woman": "female", "women": "female", "man": "male", "men": "male"}
_MOST_PARTS = 60
_OCCUPATION = PROPERTY + "P106"
_GENDER, _COUNTRIES = PROPERTY + "P21", tuple(PROPERTY + pid for pid in ("P27", "P17", "P495"))
_MOST_DESCRIBED = 5
# What holds of a place holds of what contains it, and what is an X is whatever X is a kind of.
_PLACE_CLOSURE = tuple(PROPERTY + pid for pid in ("P131", "P17", "P30", "P276", "P361"))
_PLACE_KINDS = frozenset({"place", "country", "city"})
_CLASS_PROPERTIES = (*TYPE_PROPERTIES, _OCCUPATION)
_DATE_QUESTION, _NUMBER_QUESTION = "when", "how many"


@dataclass(frozen=True, slots=True)
class Verdict:
    """What became of a condition for one entity.

    Attributes:
        satisfied: None where the graph does not tell.
        score: how surely the condition was matched to properties, 0 to 1.
        reasons: (sentence, the query behind it) of what was looked at.
    """

    satisfied: bool | None
    score: float = 0.0
    reasons: tuple[tuple[str, Answer], ...] = ()


class Filter:
    """The operator over one graph, one entity at a time. Thread-safe."""

    def __init__(self, graph: Graph, linker: Linker, matcher: RelationMatcher, relate: Relate) -> None:
        self._graph = graph
        self._linker = linker
        self._matcher = matcher
        self._relate = relate

    def run(self, request: Request, cancellation: Cancellation) -> Retrieval:
        if len(request.arguments) < 2:
            return Retrieval()
        entity, condition = request.arguments[0], request.arguments[1]
        heads = self._relate.heads(entity, request.question)
        if not heads:
            return Retrieval(link_score=0.0)
        linked = self._graph.entity_value(heads[0].iri, heads[0].score)
        undecided = Retrieval(link_score=heads[0].score, relation_score=0.0, linked=linked)
        for head in heads:
            verdict = self._decide(head, condition.text, {}, cancellation)
            if verdict is None or verdict.satisfied is None:
                if verdict is not None and verdict.reasons:
                    undecided = replace(undecided, relation_score=verdict.score)
                continue
            return self._retrieval(head, entity, verdict, request)
        return undecided

    def _retrieval(self, head: Head, entity: Value, verdict: Verdict, request: Request) -> Retrieval:
        name = self._graph.label(head.iri)
        score = round(head.score * verdict.score, 4)
        evidence = tuple(
            Evidence(
                SourceName.GRAPH, name, sentence, score, request.query,
                {"sparql": answer.sparql, "rows": list(answer.rows)},
            )
            for sentence, answer in verdict.reasons
        )  # fmt: skip
        kept = (Value(entity.text, ValueKind.ENTITY, head.iri, score),) if verdict.satisfied else ()
        linked = self._graph.entity_value(head.iri, head.score)
        return Retrieval(evidence, kept, head.score, verdict.score, decided=True, linked=linked)

    def _decide(
        self, head: Head, text: str, decided: dict[str, Verdict | None], cancellation: Cancellation
    ) -> Verdict | None:
        """None: the condition is not understood. `decided` remembers the parts that were looked at."""
        cancellation.check()
        text = " ".join(text.split())
        if text not in decided:
            if not text or len(text) > _LONGEST or len(decided) >= _MOST_PARTS or conditions.is_superlative(text):
                return None
            decided[text] = None  # a part that leads back to itself is not understood
            decided[text] = self._undivided(head, text, decided, cancellation)
        return decided[text]

    def _undivided(
        self, head: Head, text: str, decided: dict[str, Verdict | None], cancellation: Cancellation
    ) -> Verdict | None:
        """The condition as one, and where that says nothing, by its parts."""
        positive = conditions.negated(text)
        if positive is not None:
            verdict = self._decide(head, positive, decided, cancellation)
            return verdict and replace(verdict, satisfied=None if verdict.satisfied is None else not verdict.satisfied)
        verdict = self._qualified(head, text) if self._graph.has_qualifiers else None
        compare = conditions.comparison(text) if verdict is None else None
        if compare is not None:
            verdict = self._compare(head, compare)
        if verdict is None:
            verdict = self._has_value(head, text)
        if verdict is not None and verdict.satisfied:
            return verdict
        for left, connective, right in conditions.parts(text):
            joined = self._both(head, left, right, connective, decided, cancellation)
            if joined is not None:
                return joined
        described = conditions.described(text) if verdict is None or verdict.satisfied is None else None
        joined = self._both(head, *described, "and", decided, cancellation) if described is not None else None
        return joined or verdict

    def _both(
        self,
        head: Head,
        left: str,
        right: str,
        connective: str,
        decided: dict[str, Verdict | None],
        cancellation: Cancellation,
    ) -> Verdict | None:
        one = self._decide(head, left, decided, cancellation)
        two = self._decide(head, right, decided, cancellation) if one is not None else None
        return _joined(one, two, connective) if one is not None and two is not None else None

    # -- comparisons

    def _compare(self, head: Head, compare: Compare) -> Verdict | None:
        for match in self._compared_properties(head, compare):
            operand = compare.operand
            if isinstance(operand, Span) and match.kind != "time":
                if not operand.text.isdigit():
                    continue
                operand = Quantity(Decimal(operand.text))
            if match.kind == "time":
                if not isinstance(operand, Span):
                    continue
                verdict = self._dates(head, match, compare, operand)
            elif isinstance(operand, Span):
                continue
            else:
                verdict = self._numbers(head, match, compare, operand)
            if verdict is not None:
                return verdict
        return None

    def _compared_properties(self, head: Head, compare: Compare) -> list[Match]:
        dated = isinstance(compare.operand, Span)
        if compare.wording:
            question = _DATE_QUESTION if dated and not _bare_number(compare.operand) else ""
            asked = _DATE_QUESTION if dated else _NUMBER_QUESTION
            ranked = self._matcher.rank(compare.wording, question)
            ranked += self._matcher.rank(compare.wording, asked)
            return sorted((m for m in ranked if m.score >= SURE - 0.1), key=lambda m: -m.score)[:8]
        if not dated:
            return []
        # "after 1950" of what has one date only.
        dates = {s.property for s in self._graph.statements(head.iri) if self._matcher.kind(s.property) == "time"}
        return [Match(iri, False, SURE, "time") for iri in dates] if len(dates) == 1 else []

    def _dates(self, head: Head, match: Match, compare: Compare, span: Span) -> Verdict | None:
        def holds(value: Value) -> bool | None:
            date = parse_date(value.text)
            return None if date is None else compare_dates(date, compare.comparison, span)

        return self._literals(head, match, holds, f"{compare.comparison} {span.text}")

    def _numbers(self, head: Head, match: Match, compare: Compare, operand: Quantity | Range) -> Verdict | None:
        shown = operand.text if isinstance(operand, Range) else f"{operand.amount:f} {operand.unit}".strip()
        if match.kind in ("quantity", "string"):

            def holds(value: Value) -> bool | None:
                quantity = parse_quantity(value.text) or bare_number(value.text)
                return None if quantity is None else compare_quantities(quantity, compare.comparison, operand)

            return self._literals(head, match, holds, f"{compare.comparison} {shown}")
        if match.kind == "time":
            return None
        # "more than 3 children": the number of values is compared.
        answer = self._values(head, match)
        count = len({str(row["value"]) for row in answer.terms})
        satisfied = compare_quantities(Quantity(Decimal(count)), compare.comparison, operand)
        label = self._graph.property_label(match.property)
        name = self._graph.label(head.iri)
        sentence = f"{name} — number of {label}: {count}; {count} {compare.comparison} {shown}: {_yes(satisfied)}."
        return Verdict(satisfied if count else None, match.score, ((sentence, answer),))

    def _literals(self, head: Head, match: Match, holds: Callable[[Value], bool | None], test: str) -> Verdict | None:
        if match.inverse:
            return None
        answer = self._values(head, match)
        if not answer.terms:
            return None
        graph = self._graph
        values = [graph.value(Statement(head.iri, match.property, row["value"])) for row in answer.terms]
        results = [holds(value) for value in values]
        satisfied = True if True in results else False if False in results else None
        shown = next((v for v, result in zip(values, results, strict=True) if result is satisfied), values[0])
        sentence = (
            f"{graph.label(head.iri)} — {graph.property_label(match.property)}: {shown.text}; "
            f"{shown.text} {test}: {_yes(satisfied)}."
        )
        return Verdict(satisfied, match.score, ((sentence, answer),))

    def _values(self, head: Head, match: Match) -> Answer:
        return self._graph.values(head.iri, match.property, inverse=match.inverse)

    # -- values

    def _has_value(self, head: Head, text: str) -> Verdict | None:
        """Whether the entity has the value; the longest wording that is surely a property decides."""
        missing: Verdict | None = None
        for cut in conditions.value_cuts(text):
            targets = self._targets(cut.value)
            if not cut.wording:
                verdict = self._exists(head, cut.value) if conditions.demands(text) else None
                return verdict or self._is_something(head, cut.value, targets) or missing
            matches = [m for m in self._matcher.rank(cut.wording) if m.score >= SURE]
            matches = [m for m in matches if matches[0].score - m.score <= _TIE]
            verdict = self._has_property_value(head, cut, matches, targets) if matches else None
            if verdict is not None and verdict.satisfied is not None:
                return verdict
            missing = missing or verdict
        return missing

    def _qualified(self, head: Head, text: str) -> Verdict | None:
        """ "head of government Ann in 2010", "position held mayor of Berlin": by what qualifies the statements."""
        rest, time = split_time(text)
        for cut in conditions.value_cuts(rest):
            value, _, of = cut.value.rpartition(" of ")
            readings = [(cut.value, "")] if time is not None else []
            readings += [(value, of)] if value else []
            matches = (
                [m for m in self._matcher.rank(cut.wording) if m.score >= SURE] if cut.wording and readings else []
            )
            for match in (m for m in matches if matches[0].score - m.score <= _TIE):
                statements = qualified_statements(self._graph, head.iri, match.property, inverse=match.inverse)
                if statements is None:
                    continue
                for reading in readings:
                    verdict = self._holds(head, match, statements, reading, time)
                    if verdict is not None:
                        return verdict
        return None

    def _holds(
        self, head: Head, match: Match, statements: Statements, reading: tuple[str, str], time: Time | None
    ) -> Verdict | None:
        """Whether a statement has the value, of what is said, at the time; None where none has the value at all."""
        value, of = reading
        targets, of_targets = self._targets(value), self._targets(of)
        named = [item for item in statements.found if not of or not of_targets.isdisjoint(item.of)]
        answer = statements.answer_of(named)
        found = self._matching(head, match, answer, value_keys(value), targets)
        if found is None:
            return None
        held = named if time is None else [item for item in statements.at(time) if item in named]
        answer = statements.answer_of(held)
        satisfied = self._matching(head, match, answer, value_keys(value), targets) is not None
        shown = sorted({item.shown() for item in held or named if item.shown()})
        sentence = self._statement_sentence(head, match, answer, f"{found}{' of ' + of if of else ''}").rstrip(".")
        return Verdict(satisfied, match.score, ((f"{sentence} ({', '.join(shown)}).", answer),))

    def _exists(self, head: Head, wording: str) -> Verdict | None:
        """Whether the entity has any value of the property; its absence proves nothing."""
        for match in self._matcher.rank(wording):
            if match.score < SURE:
                return None
            answer = self._values(head, match)
            if answer.terms:
                return Verdict(True, match.score, ((self._statement_sentence(head, match, answer, None), answer),))
        return None

    def _has_property_value(
        self, head: Head, cut: HasValue, matches: Sequence[Match], targets: frozenset[str]
    ) -> Verdict | None:
        keys = value_keys(cut.value)
        reasons: list[tuple[str, Answer]] = []
        for match in matches:
            answer = self._values(head, match)
            found = self._matching(head, match, answer, keys, targets)
            if found is None and answer.terms:
                within = self._within(head, match, targets)
                if within is not None:
                    answer, found = within
            if found is None and answer.terms:
                described = self._described(head, match, answer, cut.value)
                if described is not None:
                    return described
            if not answer.terms:
                continue
            reasons.append((self._statement_sentence(head, match, answer, found), answer))
            if found is not None:
                return Verdict(True, match.score, (reasons[-1],))
        if not reasons:
            reasons = self._others(matches, targets)
        return Verdict(False if reasons else None, matches[0].score, tuple(reasons))

    def _described(self, head: Head, match: Match, answer: Answer, value: str) -> Verdict | None:
        """ "Creator is Spanish", "director is a woman": what the property's values are, by country or by gender."""
        bare = name_key(value).removeprefix("the ").removeprefix("a ").removeprefix("an ")
        gender = bare in _SAME_VALUE or bare in _SAME_VALUE.values()
        if not gender and bare not in vocabulary().countries:
            return None
        keys, targets = value_keys(bare), self._targets(bare)
        reasons: list[tuple[str, Answer]] = []
        for iri in [iri for row in answer.terms[:_MOST_DESCRIBED] if (iri := term_iri(row["value"])) is not None]:
            for prop in (_GENDER,) if gender else _COUNTRIES:
                of_value = Match(prop, False, match.score, self._matcher.kind(prop))
                stated = self._values(Head(iri, 1.0), of_value)
                found = self._matching(Head(iri, 1.0), of_value, stated, keys, targets)
                if stated.terms:
                    reasons.append((self._statement_sentence(head, match, answer, self._graph.label(iri)), answer))
                    reasons.append((self._statement_sentence(Head(iri, 1.0), of_value, stated, found), stated))
                if found is not None:
                    return Verdict(True, match.score, tuple(reasons[-2:]))
        if not reasons and match.kind != "person":
            return None  # "official language is French"
        # A person of whom nothing is known may be of any country.
        return Verdict(False if reasons else None, match.score, tuple(reasons))

    def _others(self, matches: Sequence[Match], targets: frozenset[str]) -> list[tuple[str, Answer]]:
        """Whom the target has instead, where the entity would have to be its value ("capital of France")."""
        for match in matches:
            for target in sorted(targets) if match.inverse else ():
                turned = replace(match, inverse=False)
                answer = self._values(Head(target, 1.0), turned)
                if answer.terms:
                    return [(self._statement_sentence(Head(target, 1.0), turned, answer, None), answer)]
        return []

    def _matching(
        self, head: Head, match: Match, answer: Answer, keys: frozenset[str], targets: frozenset[str]
    ) -> str | None:
        """The text of the value that is meant, or None."""
        graph = self._graph
        for row in answer.terms:
            iri = term_iri(row["value"])
            if match.inverse:
                if iri is None:
                    continue
                text = graph.label(iri)
            else:
                text = graph.value(Statement(head.iri, match.property, row["value"])).text
            if iri is not None and iri in targets:
                return text
            names = [text, *(graph.names.names_of(iri) if iri is not None else ())]
            if any(not keys.isdisjoint(value_keys(name)) for name in names):
                return text
            if iri is not None and any(name_key(name).endswith(f" {key}") for name in names for key in keys):
                return text  # a surname
        return None

    def _within(self, head: Head, match: Match, targets: Iterable[str]) -> tuple[Answer, str] | None:
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
            answer = select_labelled(self._graph, pattern)
            if answer.terms:
                return answer, self._graph.label(target)
        return None

    def _statement_sentence(self, head: Head, match: Match, answer: Answer, found: str | None) -> str:
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

    def _is_something(self, head: Head, value: str, targets: frozenset[str]) -> Verdict | None:
        """ "a film", "female", "American": a type first, then any value that is written so."""
        graph = self._graph
        keys = value_keys(value) | value_keys(_singular(value))
        targets = targets | self._targets(_singular(value))
        known: list[tuple[str, Answer]] = []
        for prop in _CLASS_PROPERTIES:
            match = Match(prop, False, 0.95, "type")
            answer = self._values(head, match)
            found = self._matching(head, match, answer, keys, targets)
            if found is None and answer.terms:
                within = self._within(head, match, targets)
                if within is not None:
                    answer, found = within
            if found is not None:
                return Verdict(True, match.score, ((self._statement_sentence(head, match, answer, found), answer),))
            if answer.terms:
                known.append((self._statement_sentence(head, match, answer, None), answer))
        for statement in graph.statements(head.iri):
            match = Match(statement.property, False, 0.9, self._matcher.kind(statement.property))
            names = [graph.value(statement).text]
            iri = term_iri(statement.object)
            names += graph.names.names_of(iri) if iri is not None else []
            if (iri is not None and iri in targets) or any(not keys.isdisjoint(value_keys(name)) for name in names):
                answer = self._values(head, match)
                sentence = self._statement_sentence(head, match, answer, names[0])
                return Verdict(True, match.score, ((sentence, answer),))
        return self._sibling_value(head, keys, known)

    def _sibling_value(self, head: Head, keys: frozenset[str], known: Sequence[tuple[str, Answer]]) -> Verdict | None:
        """False where the entity has another value of the property that such a value belongs to."""
        graph = self._graph
        for candidate in sorted(self._iris_of(keys)):
            for use in graph.statements(tail=candidate, limit=20):
                match = Match(use.property, False, 0.9, self._matcher.kind(use.property))
                if use.property in TYPE_PROPERTIES:
                    if known:
                        return Verdict(False, 0.95, tuple(known))
                    continue
                answer = self._values(head, match)
                if answer.terms:
                    return Verdict(False, match.score, ((self._statement_sentence(head, match, answer, None), answer),))
        return None

    def _targets(self, text: str) -> frozenset[str]:
        """Entities that the value may be, by their names exactly."""
        return self._iris_of(value_keys(text)) if text else frozenset()

    def _iris_of(self, keys: Iterable[str]) -> frozenset[str]:
        return frozenset(row.entity.iri for key in keys for row in self._graph.names.by_key(key, limit=20))


def value_keys(text: str) -> frozenset[str]:
    """The key of a value, and those of the countries that it may be an adjective of."""
    key = name_key(text)
    bare = key.removeprefix("the ")
    return frozenset({key, bare, _SAME_VALUE.get(bare, key)}) | vocabulary().countries.get(bare, frozenset())


def _joined(one: Verdict, two: Verdict, connective: str) -> Verdict:
    results = (one.satisfied, two.satisfied)
    deciding, otherwise = (True, False) if connective == "or" else (False, True)
    satisfied = deciding if deciding in results else None if None in results else otherwise
    return Verdict(satisfied, min(one.score, two.score), one.reasons + two.reasons)


def _bare_number(operand: object) -> bool:
    return isinstance(operand, Span) and operand.text.isdigit()


def _singular(text: str) -> str:
    if text.endswith("ies") and len(text) > 4:
        return text[:-3] + "y"
    return text[:-1] if text.endswith("s") and not text.endswith("ss") and len(text) > 3 else text


def _yes(satisfied: bool | None) -> str:
    return "cannot be told" if satisfied is None else "yes" if satisfied else "no"
