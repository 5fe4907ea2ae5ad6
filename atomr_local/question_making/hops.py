"""A question of two hops: the facts that it is made of, and where they stand."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from typing import Any, Literal, cast, get_args

Source = Literal["text", "graph", "web"]
Bridge = Literal["text-graph", "graph-text", "graph-web", "text-web"]
Form = Literal["short", "yes/no", "count"]
SOURCES: tuple[Source, ...] = get_args(Source)
BRIDGES: tuple[Bridge, ...] = get_args(Bridge)
WEB_BRIDGES: tuple[Bridge, ...] = ("graph-web", "text-web")
FORMS: tuple[Form, ...] = get_args(Form)


@dataclass(frozen=True, slots=True)
class Hop:
    """One fact. All texts are untrusted.

    Attributes:
        head: the name of what the fact is about, as its source writes it.
        relation: the label of the relation.
        tails: what the source says; several only where they are counted.
        evidence: what it stands in: ids of passages, triples as N-Triples writes them, or addresses of web pages.
        said: the sentence or the triples, for people to read.
        span: where in the passage the tail stands; None outside text.
        answers: other names of the tail that are as right.
    """

    source: Source
    head: str
    relation: str
    tails: tuple[str, ...]
    evidence: tuple[str, ...]
    said: str
    span: tuple[int, int] | None = None
    answers: tuple[str, ...] = ()

    @property
    def tail(self) -> str:
        return self.tails[0]

    def to_dict(self) -> dict[str, Any]:
        """The hop as a line of questions holds it."""
        told: dict[str, Any] = {
            "source": self.source,
            "head": self.head,
            "relation": self.relation,
            "tails": list(self.tails),
            "evidence": list(self.evidence),
            "said": self.said,
        }
        return told | ({"span": list(self.span)} if self.span else {})


@dataclass(frozen=True, slots=True)
class Candidate:
    """Two facts that share an entity: the tail of the first is the head of the second.

    Attributes:
        names: every name of the bridge that its sources know.
        bridge_key: what is the same for the same bridge.
        counted: the number of the second hop's tails is asked for.
        doubt: why it is not clear which entity is meant; "" if it is.
    """

    first: Hop
    second: Hop
    names: tuple[str, ...]
    bridge_key: str
    counted: bool = False
    doubt: str = ""

    @property
    def bridge(self) -> Bridge:
        return cast(Bridge, f"{self.first.source}-{self.second.source}")

    @property
    def sides(self) -> tuple[Source, Source]:
        return self.first.source, self.second.source

    @property
    def answers(self) -> tuple[str, ...]:
        """The right answers, any of which will do."""
        if self.counted:
            return (str(len(self.second.tails)),)
        return tuple(dict.fromkeys((self.second.tail, *self.second.answers)))

    @property
    def id(self) -> str:
        """The same for the same facts, in every run."""
        parts = [self.bridge, str(self.counted)]
        for hop in (self.first, self.second):
            parts += [hop.head, hop.relation, *hop.tails]
        return "x" + hashlib.blake2b("\x1f".join(parts).encode("utf-8", "replace"), digest_size=6).hexdigest()


def hop_of(given: object) -> Hop:
    """The hop that :meth:`Hop.to_dict` wrote.

    Raises:
        ValueError: it is none, in words.
    """
    if not isinstance(given, dict):
        raise ValueError("a hop is not an object")
    texts = {name: given.get(name) for name in ("source", "head", "relation", "said")}
    for name, value in texts.items():
        if not isinstance(value, str):
            raise ValueError(f'"{name}" of a hop is {"missing" if value is None else "not a string"}')
    if texts["source"] not in SOURCES:
        raise ValueError(f'"source" of a hop is none of {", ".join(SOURCES)}')
    lists = {name: given.get(name) for name in ("tails", "evidence")}
    for name, value in lists.items():
        if not isinstance(value, list) or not value or not all(isinstance(item, str) for item in value):
            raise ValueError(f'"{name}" of a hop is not a list of strings with at least one')
    span = given.get("span")
    if span is not None and not (
        isinstance(span, list) and len(span) == 2 and all(type(place) is int and place >= 0 for place in span)
    ):
        raise ValueError('"span" of a hop is not a pair of places')
    return Hop(
        cast(Source, texts["source"]),
        str(texts["head"]),
        str(texts["relation"]),
        tuple(cast("list[str]", lists["tails"])),
        tuple(cast("list[str]", lists["evidence"])),
        str(texts["said"]),
        (span[0], span[1]) if span else None,
    )
