"""Examples of relation matching: a wording, a question, and the properties that an entity has."""

from __future__ import annotations

import copy
import random
import re
import zlib
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from bench.graph_query import misspelt
from bench.linking_data import items, triples

from atomr_local.indexing.graph_index.names.database import PropertyRow
from atomr_local.language.names import name_key
from atomr_local.language.properties import PROPERTY, property_table
from atomr_local.sources.graph.properties.matching import PropertyMatcher, PropertyPath
from atomr_local.sources.graph.semantic_similarity import SemanticSimilarity
from training.files import QUESTIONS, STARTER, read_lines

# What entities with the first property have besides in Wikidata, and how often; CoDEx holds no literals.
LITERALS = {
    "P106": {"P569": 0.95, "P570": 0.5, "P31": 1.0, "P735": 0.7, "P21": 0.9},
    "P57": {"P577": 0.9, "P2047": 0.5, "P31": 1.0}, "P136": {"P577": 0.4, "P31": 0.8},
    "P47": {"P1082": 0.7, "P2046": 0.7, "P571": 0.5, "P31": 1.0, "P36": 0.3},
    "P159": {"P571": 0.9, "P1128": 0.4, "P31": 1.0},
}  # fmt: skip
# One statement may be made by either: no mistake to take the one for the other.
ALIKE = [{"P364", "P407"}, {"P17", "P495"}, {"P131", "P276"}, {"P527", "P150"}]
MODIFIERS = (
    "first", "second", "third", "last", "largest", "smallest", "oldest", "youngest", "longest", "highest", "former",
    "favourite", "second-best",
)  # fmt: skip
HARMLESS = (
    "name of the {}", "the {}", "its {}", "current {}", "exact {}", "official {}", "{} of the film",
    "{} of this person",
    "full {}", "main {}", "{} name", "{} in total", "known {}", "actual {}",
    "primary {}", "{} details",
)  # fmt: skip
TEMPLATES = {
    "person": ("Who is the {} of {}?", "Who was {1}'s {0}?"),
    "time": ("When was the {} of {}?", "What is the {} of {}?", "On what date: {0} of {1}?"),
    "place": ("Where is the {} of {}?", "What is the {} of {}?"),
    "quantity": ("What is the {} of {}?", "How large is the {} of {}?"),
    "": ("What is the {} of {}?", "What was {1}'s {0}?", "{0} of {1}", "Tell me the {} of {}."),
}
FREE = re.compile(r'Relate\("([^"]+)", "([^"]+)"\)')


@dataclass
class Example:
    """A wording to be matched with what an entity has; gold: the ways that are right, none where nothing is."""

    part: str
    group: str
    wording: str
    question: str
    own: tuple[PropertyPath, ...]
    gold: frozenset[PropertyPath]
    matcher: PropertyMatcher = field(repr=False)


class Worlds:
    """Graphs that know different properties by different names."""

    def __init__(
        self, rows: Sequence[PropertyRow], needed: set[str], semantic: SemanticSimilarity, rng: random.Random
    ) -> None:
        self.names = {row.iri: row for row in rows}
        self._all = []
        for forgotten in (0.0, 0.0, 0.3, 0.6, 0.9, 1.0):
            chosen = [row for row in rows if row.iri in needed]
            others = [row for row in rows if row.iri not in needed]
            chosen += rng.sample(others, min(len(others), rng.choice((0, 60, 250))))
            matcher = PropertyMatcher(chosen, semantic)
            for iri, names in matcher._texts.items():
                matcher._texts[iri] = [
                    name for place, name in enumerate(names) if place == 0 or rng.random() >= forgotten
                ]
            matcher.match_question("")  # so that copies share what it builds
            self._all.append(matcher)

    def one(self, rng: random.Random) -> PropertyMatcher:
        return rng.choice(self._all)


def without(matcher: PropertyMatcher, iri: str) -> PropertyMatcher:
    """The matcher as it would be if nobody had ever heard of the property."""
    other = copy.copy(matcher)
    other._texts = {prop: names for prop, names in matcher._texts.items() if prop != iri}
    other._rank = other._rank_uncached  # type: ignore[assignment]
    return other


def property_sets(data: Path, rng: random.Random) -> tuple[dict[str, set[PropertyPath]], dict[str, set[PropertyPath]]]:
    """What entities have, by entity: CoDEx's, and the starter's."""
    codex: dict[str, set[PropertyPath]] = defaultdict(set)
    for subject, prop, target in triples(data):
        codex[subject].add((PROPERTY + prop, False))
        codex[target].add((PROPERTY + prop, True))
    for ways in codex.values():
        for mark, added in LITERALS.items():
            if (PROPERTY + mark, False) in ways:
                ways |= {(PROPERTY + prop, False) for prop, share in added.items() if rng.random() < share}
    starter: dict[str, set[PropertyPath]] = defaultdict(set)
    labels = property_table().by_label
    for fact in read_lines(STARTER / "facts.jsonl.gz"):
        known = labels.get(name_key(fact["p"]))
        stated: str | None = PROPERTY + fact["p_id"] if fact.get("p_id") else known.iri if known else None
        if stated is None:
            continue
        starter[fact["s"]].add((stated, False))
        if fact.get("o_type") == "entity":
            starter[fact["o"]].add((stated, True))
    return codex, {name: ways for name, ways in starter.items() if len(ways) > 1}


def wording_of(way: PropertyPath, worlds: Worlds, rng: random.Random) -> str:
    """A wording that people or plans use for the property in this direction."""
    prop, inverse = way
    row, known = worlds.names.get(prop), property_table().by_iri.get(prop)
    label = (row.label if row else "") or (known.label if known else "")
    if inverse:
        names = list(known.inverse) if known else []
        return rng.choice(names) if names and rng.random() < 0.75 else f"{label} of"
    names = [*(row.names if row else ()), *(known.names if known else ())]
    chance = rng.random()
    if chance < 0.3 or not names:
        return label
    if chance < 0.9:
        return rng.choice(names)
    return rng.choice([f"the {label}", f"{label} of", f"{label}s", label.upper(), f"its {label}"])


def examples(part: str, data: Path, worlds: Worlds, sets: Any, count: int, rng: random.Random) -> Iterator[Example]:
    codex, starter = sets
    bearers: dict[PropertyPath, list[str]] = defaultdict(list)
    for entity, ways in codex.items():
        for way in ways:
            bearers[way].append(entity)
    asked = [item for item in items(data, parts=(part,)) if item.source == "SimpleQuestions"]
    if part == "valid":
        asked += [item for item in items(data, parts=()) if item.source == "RuBQ"]
    rng.shuffle(asked)
    made = 0
    for item in asked:
        known = item.way[0] in worlds.names
        own = codex.get(item.entity) or (codex[rng.choice(bearers[item.way])] if bearers.get(item.way) else None)
        if own is None or not known or len(own) < 2 or made >= count * 0.55:
            continue
        made += 1
        yield from _two(part, item.source, item.question, "", own | {item.way}, item.way, worlds, rng)
    here = [name for name in starter if (zlib.crc32(name.encode()) % 4 == 0) == (part == "valid")]
    every = sorted({way for ways in starter.values() for way in ways if way[0] in worlds.names})
    for _ in range(int(count * 0.3)):
        name = rng.choice(here)
        own = {way for way in starter[name] if way[0] in worlds.names}
        # Half of what is asked for is what other entities have.
        gold = rng.choice(sorted(own)) if own and rng.random() < 0.5 else rng.choice(every)
        if own:
            yield from _two(part, "starter", "", name, own | {gold}, gold, worlds, rng)
    yield from _free(part, worlds, [*codex.values(), *starter.values()], int(count * 0.15), rng)


def _two(
    part: str,
    group: str,
    question: str,
    head: str,
    own: set[PropertyPath],
    gold: PropertyPath,
    worlds: Worlds,
    rng: random.Random,
) -> Iterator[Example]:
    """An example with the property asked for, or one without it."""
    matcher, wording = worlds.one(rng), wording_of(gold, worlds, rng)
    if not wording:
        return
    chance = rng.random()
    if not question or chance < 0.25:
        kind = "" if gold[1] or rng.random() < 0.3 else matcher.kind(gold[0])
        question = rng.choice(TEMPLATES.get(kind, TEMPLATES[""])).format(wording, head or "it")
    question = "" if chance > 0.9 else question
    right = {way for way in own if way == gold or matcher.same_relation(gold, way) or _alike(gold, way)}
    if rng.random() < 0.06 and len(wording) > 5:
        wording = misspelt(wording, rng)
    if rng.random() < 0.1:
        wording = rng.choice(HARMLESS).format(wording)
    if rng.random() < 0.05 and not gold[1]:
        # "first wife": nothing states that, the spouses included.
        modifier = rng.choice(MODIFIERS)
        question = rng.choice(TEMPLATES[""]).format(f"{modifier} {wording}", head or "it")
        wording = f"{modifier} {wording}"
        yield Example(part, f"{group}, modified", wording, question, tuple(sorted(own)), frozenset(), matcher)
    elif rng.random() < 0.5:
        yield Example(part, group, wording, question, tuple(sorted(own)), frozenset(right), matcher)
    else:
        left = own - right
        unknown = rng.random() < 0.5
        matcher = without(matcher, gold[0]) if unknown and not any(way[0] == gold[0] for way in left) else matcher
        if left:
            yield Example(part, f"{group}, taken away", wording, question, tuple(sorted(left)), frozenset(), matcher)


def _free(
    part: str, worlds: Worlds, sets: Sequence[set[PropertyPath]], count: int, rng: random.Random
) -> Iterator[Example]:
    """Relations as plans word them, that no property is called like: right for nothing."""
    lines = [line for name in ("passages", "more") for line in read_lines(QUESTIONS / f"{name}.jsonl")]
    asked = [
        (match[1], match[2], line["question"])
        for line in lines
        if line["kind"] == "single" and (match := FREE.fullmatch(line.get("operation", "")))
    ]
    here = [item for item in asked if (zlib.crc32(item[2].encode()) % 4 == 0) == (part == "valid")]
    for head, wording, question in rng.sample(here, min(count, len(here))):
        matcher, own = worlds.one(rng), rng.choice(sets)
        ways = tuple(sorted(way for way in own if way[0] in worlds.names))
        ranked = {(match.property, match.inverse): match.score for match in matcher.rank(wording, question, head)}
        if ways and max((ranked.get(way, 0.0) for way in ways), default=0.0) < 0.45:
            yield Example(part, "plans' own words", wording, question, ways, frozenset(), matcher)


def _alike(one: PropertyPath, other: PropertyPath) -> bool:
    pids = {one[0].removeprefix(PROPERTY), other[0].removeprefix(PROPERTY)}
    return one[1] == other[1] and any(pids <= group for group in ALIKE)
