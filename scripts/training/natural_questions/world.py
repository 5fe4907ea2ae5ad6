"""Facts, and the names that questions ask about."""

from __future__ import annotations

import random
import re
from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from atomr_local.language.literals import MONTHS
from training.files import read_lines
from training.natural_questions.plans import Value
from training.natural_questions.tables import PERSONS, held_out, names
from training.splits import development_part, training_part

_TYPES = {
    "novel": "book", "novella": "book", "poem": "book", "fairy tale": "book", "scientific book": "book", "play": "play",
    "film": "film", "opera": "music", "ballet": "music", "oratorio": "music", "symphony": "music",
    "symphonic poem": "music", "orchestral work": "music", "waltz": "music", "painting": "painting",
    "fresco": "painting", "country": "country", "city": "city", "human settlement": "city", "mountain": "mountain",
    "river": "river", "chemical element": "element", "moon": "moon", "planet": "planet", "company": "company",
    "university": "university", "museum": "museum", "U.S. state": "state",
}  # fmt: skip
_JOBS = {
    "novelist": "writer", "writer": "writer", "playwright": "writer", "poet": "writer", "film director": "director",
    "composer": "composer", "painter": "painter", "physicist": "scientist", "chemist": "scientist",
    "astronomer": "scientist", "mathematician": "scientist", "biologist": "scientist", "naturalist": "scientist",
    "politician": "leader", "monarch": "leader", "actor": "actor", "singer": "musician", "inventor": "scientist",
}  # fmt: skip
# Countries whose names begin so take "the".
_WITH_ARTICLE = {
    "United", "Netherlands", "Philippines", "Maldives", "Bahamas", "Democratic", "Republic", "Czech", "Dominican",
    "Central", "Comoros", "Seychelles", "Solomon", "Marshall",
}  # fmt: skip
_KIND_IN_NAME = re.compile(r" \(([^()]*)\)$")


# The property of relations whose values the facts hold for hardly any: what they hold is no answer.
UNTOLD = "?"


@dataclass(frozen=True)
class Name:
    """A name to ask about.

    Attributes:
        label: as written.
        kind: a kind of `names.toml`.
        key: the entity's label in the world; "" where no facts are known.
        qualifier: what tells it from others of its name, "1948 film"; "" where nothing is needed.
        sex: "m", "f" or "".
        world: the facts behind it.
    """

    label: str
    kind: str
    key: str = ""
    qualifier: str = ""
    sex: str = ""
    world: World | None = None

    @property
    def title(self) -> str:
        """Title of its page."""
        return f"{self.key} ({self.qualifier})" if self.qualifier and not self.key.endswith(")") else self.key

    @property
    def bare(self) -> str:
        """As a plan writes it: without the article."""
        return self.label.removeprefix("the ")


class World:
    """Triples of one source."""

    def __init__(self, corpus: str, triples: Iterable[tuple[str, str, str]], *, complete: bool) -> None:
        self.corpus, self.complete = corpus, complete
        self.facts: dict[tuple[str, str], list[str]] = defaultdict(list)
        self.inverse: dict[tuple[str, str], list[str]] = defaultdict(list)
        for subject, relation, value in triples:
            if value not in self.facts[subject, relation]:
                self.facts[subject, relation].append(value)
                self.inverse[value, relation].append(subject)
        self.pages: set[str] = set()
        self.names: dict[str, list[Name]] = defaultdict(list)
        self.by_label: dict[str, Name] = {}

    def add(self, name: Name) -> None:
        if held_out(name.label):
            return
        self.names[name.kind].append(name)
        self.by_label.setdefault(name.bare, name)

    def get(self, key: str, prop: str) -> list[str]:
        """Values of a property; "^p" asks backwards, "^p:kind,kind" only for these, and "|" joins."""
        found: list[str] = []
        for part in prop.split("|"):
            relation, _, kinds = part.removeprefix("^").partition(":")
            values = self.inverse[key, relation] if part.startswith("^") else self.facts[key, relation]
            for value in values:
                if not kinds or set(kinds.split(",")) & set(self.facts[value, "instance of"]):
                    found.append(value)
        return list(dict.fromkeys(found))

    def values(self, heads: list[Value] | None, prop: str) -> list[Value] | None:
        """The property of each of the values; None where that is not told and the facts are not all there is."""
        if heads is None or prop == UNTOLD:
            return None
        found = [Value(text, head) for head in heads for text in self.get(head.text, prop)]
        return found if found or self.complete else None


def starter(home: Path) -> World:
    """The facts that come with the program."""
    rows = read_lines(home / "facts.jsonl.gz")
    world = World("starter", ((row["s"], row["p"], row["o"]) for row in rows), complete=True)
    world.pages = {row["title"] for row in read_lines(home / "articles.jsonl")}
    for label in dict.fromkeys(row["s"] for row in rows):
        kinds = [_TYPES[one] for one in world.facts[label, "instance of"] if one in _TYPES]
        sex = {"male": "m", "female": "f"}.get("".join(world.facts[label, "sex or gender"]), "")
        if sex:
            kinds = [_JOBS[one] for one in world.facts[label, "occupation"] if one in _JOBS] or ["leader"]
        for kind in dict.fromkeys(kinds):
            match = _KIND_IN_NAME.search(label)
            bare = label[: match.start()] if match else label
            shown = f"the {bare}" if kind in ("museum", "river") or bare.startswith("University of") else bare
            if kind == "country" and bare.split()[0] in _WITH_ARTICLE:
                shown = f"the {bare}"
            world.add(Name(shown, kind, label, match[1] if match else "", sex, world))
    return world


def two_wiki(data: Path) -> World:
    """The labelled facts of 2WikiMultihopQA's training part, none that a question of the last fifth stands on."""
    questions = read_lines(data / "qa/2wiki_train500_questions.jsonl")
    development, training = development_part(questions), training_part(questions)
    kept = {_KIND_IN_NAME.sub("", title) for row in development for title in row["gold_titles"]}
    kept |= {text for row in development for subject, _, value in row["evidences"] for text in (subject, value)}
    triples = [tuple(fact) for row in training for fact in row["evidences"]]
    triples += [(row["s"], row["p"], row["o"]) for row in read_lines(data / "kg/2wiki_train_triples.jsonl")]
    world = World("2wiki", (fact for fact in triples if fact[0] not in kept), complete=False)
    world.pages = {row["title"] for row in read_lines(data / "qa/2wiki_train500_corpus.jsonl")}
    titles = [title for row in training for title in row["gold_titles"]]
    qualifiers = {
        _KIND_IN_NAME.sub("", title): match[1]
        for title in titles
        if (match := _KIND_IN_NAME.search(title))
        and match[1].split()[-1] in ("film", "song", "album", "actor", "director")
    }
    whole = set(titles)
    for subject in dict.fromkeys(fact[0] for fact in triples):
        has = {prop for (one, prop), values in world.facts.items() if one == subject and values}
        kind = ""
        if "director" in has:
            kind = "film"
        elif "performer" in has:
            kind = "song"
        elif has & {"date of birth", "date of death", "place of birth", "father", "mother", "spouse"}:
            kind = "actor"
        if kind and subject not in kept:
            match = _KIND_IN_NAME.search(subject)
            if match and match[1].casefold() == subject[: match.start()].casefold():
                match = None
            label = subject[: match.start()] if match else subject
            told = match[1] if match else qualifiers.get(subject, "")
            qualifier = "" if (subject in whole and not match) or kind == "actor" else told
            world.add(Name(label, kind, subject, qualifier, "", world))
    return world


class Pool:
    """Where names come from: worlds with facts, and the authored tables."""

    def __init__(self, rng: random.Random, worlds: dict[str, World]) -> None:
        self.rng, self.worlds = rng, worlds
        # The one source of all names; "" for any.
        self.only = ""
        self._women = set(names()["women"])

    def pick(self, kinds: Iterable[str], source: str = "") -> Name | None:
        """A name of one of the kinds; source "table", "starter", "2wiki" or "" for any. None where there is none."""
        choices = [kind for kind in kinds if self._list(kind, source)]
        if not choices:
            return None
        return self.rng.choice(self._list(self.rng.choice(choices), source))

    def several(self, kind: str, count: int, source: str = "") -> list[Name]:
        """Different names of a kind; fewer where there are not so many."""
        found = self._list(kind, source)
        return self.rng.sample(found, min(count, len(found)))

    def _list(self, kind: str, source: str) -> list[Name]:
        if source == "table":
            return [self.named(label, kind) for label in names().get(kind, ())]
        if source:
            return self.worlds[source].names[kind]
        facts = "2wiki" if kind in ("film", "song", "actor") else "table"
        return self._list(kind, self.rng.choice(("table", "table", "starter", facts))) or self._list(kind, "table")

    def named(self, label: str, kind: str) -> Name:
        """The name, with the starter's facts where it has any of this kind."""
        known = self.worlds["starter"].by_label.get(label.removeprefix("the "))
        key = known.key if known is not None and known.kind == kind else ""
        if (kind == "river" and not label.endswith(" River")) or (
            kind == "university" and label.startswith("University ")
        ):
            label = f"the {label}"
        sex = ("f" if label in self._women else "m") if kind in PERSONS else ""
        return Name(
            label, kind, key, known.qualifier if known and key else "", sex, self.worlds["starter"] if key else None
        )


def with_article(name: str) -> str:
    """The name of a country as it stands in a sentence."""
    return f"the {name}" if name.split(maxsplit=1)[0] in _WITH_ARTICLE and name != "Republic" else name


def year_of(text: str) -> int | None:
    """The year of a date as the facts write it."""
    match = re.search(r"\b(1\d{3}|20\d\d|[5-9]\d\d)\b", text)
    return int(match[1]) if match else None


def number_of(text: str) -> float | None:
    """The number of a quantity as the facts write it."""
    match = re.match(r"-?[\d,]*\.?\d+", text)
    return float(match[0].replace(",", "")) if match else None


def order_of(text: str) -> tuple[float, ...] | None:
    """What a date or number is ordered by; None where it is neither."""
    match = re.fullmatch(r"(-?\d{1,4})-(\d\d)-(\d\d)", text)
    if match:
        return tuple(float(part) for part in match.groups())
    match = re.fullmatch(r"(\d{1,2}) (\w+) (\d{3,4})", text)
    if match and match[2] in MONTHS:
        return float(match[3]), float(MONTHS.index(match[2]) + 1), float(match[1])
    match = re.fullmatch(r"(\w+) (\d{1,2}), (\d{3,4})", text)
    if match and match[1] in MONTHS:
        return float(match[3]), float(MONTHS.index(match[1]) + 1), float(match[2])
    number = number_of(text)
    return (number,) if number is not None else None


def forms(text: str) -> list[str]:
    """The ways to write a value: a date in words besides."""
    match = re.fullmatch(r"(\d{4})-(\d\d)-(\d\d)", text)
    if match:
        day, month = int(match[3]), MONTHS[int(match[2]) - 1]
        return [f"{day} {month} {match[1]}", f"{month} {day}, {match[1]}", text]
    bare = _KIND_IN_NAME.sub("", text)
    return [bare] if bare == text else [bare, text]
