"""A question in the making: its names, how it is meant, its plan, and its line in the output."""

from __future__ import annotations

import random
import re
from dataclasses import dataclass, field
from typing import Any

from training.natural_questions import surface
from training.natural_questions.plans import Plan, Step, Value, name_mark
from training.natural_questions.tables import KIND_WORDS, Relation
from training.natural_questions.world import Name, Pool, World, forms

_MOST_TITLES = 12
_YEAR = re.compile(r"\byears?\b", re.IGNORECASE)
_PRONOUNS = {"m": ("he", "his", "him"), "f": ("she", "her", "her"), "": ("they", "their", "them")}


@dataclass
class Core:
    """One way to mean a question: `style` and `text` for the surface, `clause` beside it, and how it is understood."""

    style: str
    text: str
    clause: str
    understood: str
    template: str

    @property
    def year(self) -> bool:
        return bool(_YEAR.search(self.understood))


@dataclass
class Question:
    """One question of the data."""

    kind: str
    pool: Pool
    names: list[Name] = field(default_factory=list)
    told: list[str] = field(default_factory=list)
    core: Core | None = None
    type: str = "thing"
    several: bool = False
    plan: Plan = field(default_factory=Plan)
    answers: list[str] | None = None
    literal: bool = False
    corpus: str = ""

    @property
    def rng(self) -> random.Random:
        return self.pool.rng

    @property
    def world(self) -> World | None:
        """The facts that all names are of; None where some name has none."""
        worlds = {id(name.world): name.world for name in self.names}
        return next(iter(worlds.values())) if len(worlds) == 1 and all(name.key for name in self.names) else None

    def name(self, name: Name, told: str = "") -> str:
        """Mark of a name. `told`: the kind of it that the question tells."""
        self.names.append(name)
        self.told.append(told)
        return name_mark(len(self.names) - 1)

    def named(self, name: Name, chance: float = 0.0) -> str:
        """The name as text of the question; with its kind where it needs one, or by chance."""
        needed = name.qualifier
        if not needed and self.rng.random() >= chance:
            return self.name(name)
        kind = KIND_WORDS[name.kind][0]
        if name.kind == "music" and name.world is not None and name.key:
            kind = (name.world.facts[name.key, "instance of"] or [kind])[0]
        told = needed or kind
        if name.label.startswith("the ") or (not needed and kind in ("work", "person")):
            return self.name(name, needed)
        mark = self.name(name, told)
        movie = told.replace("film", "movie")
        ways = [f"the {told} {mark}"] * 2 + [
            f"{mark} (the {told})",
            f"{mark}, the {told},",
            f"the {told} called {mark}",
        ]
        ways.append(f"the {movie} {mark}")
        if told[:4].isdigit():
            ways.append(f"the {told} of {mark}")
        return self.rng.choice(ways[:2] if name.kind in ("planet", "element") else ways)

    def heads(self, number: int = 0) -> list[Value] | None:
        """The value that a name is, where the world of all names knows it."""
        return [Value(self.names[number].key)] if self.world is not None else None

    def call_name(self, number: int = 0) -> str:
        """The name as calls write it, still marked."""
        told = self.told[number]
        return f'"{name_mark(number)}{f" ({told})" if told else ""}"'

    def relate(
        self, head: int | Step, relation: Relation, *, among: list[Step] | None = None, question: str = ""
    ) -> Step:
        """A step for a relation of a name (by its number) or of an earlier step."""
        return self.ask(head, relation.rel, relation.prop, question or relation.step, among=among)

    def ask(self, head: int | Step, rel: str, prop: str, question: str, *, among: list[Step] | None = None) -> Step:
        """A Relate with the question's text given, {x} being the head."""
        if isinstance(head, Step):
            mark, first, values = self.plan.mark(head), self.plan.mark(head), head.values
        else:
            mark, first, values = name_mark(head), self.call_name(head), self.heads(head)
        found = self.world.values(values, prop) if self.world is not None else None
        return self.plan.add(question.replace("{x}", mark), f'Relate({first}, "{rel}")', found, among)

    def operate(
        self, name: str, operands: list[Step | str], words: list[str], question: str,
        values: list[Value] | None = None, among: list[Step] | None = None,
    ) -> Step:  # fmt: skip
        """An operation over steps and, where it may be, one quoted text."""
        written = [self.plan.mark(one) if isinstance(one, Step) else f'"{one}"' for one in operands]
        written += [f'"{word}"' for word in words]
        return self.plan.add(question, f"{name}({', '.join(written)})", values, among)

    def pick(self, cores: list[Core]) -> Core:
        self.core = self.rng.choice(cores)
        return self.core

    def pronouns(self, text: str, number: int = 0) -> str:
        he, his, him = _PRONOUNS[self.names[number].sex]
        text = text.replace("{he}", he).replace("{his}", his).replace("{him}", him)
        for one, many in (("was they", "were they"), ("is they", "are they"), ("'s they", " are they")):
            text = text.replace(one, many) if he == "they" else text
        return text

    def _heads(self) -> list[str]:
        """The things between the names and the answers whose values are asked for."""
        steps = [child for step in self.plan.steps for child in (step, *step.children)]
        own = {name.key for name in self.names}
        heads = [value.of.text for step in steps for value in step.values or [] if value.of is not None]
        return [head for head in dict.fromkeys(heads) if head not in own]

    def line(self) -> dict[str, Any]:
        """The finished line, without an id."""
        assert self.core is not None
        rng, core = self.rng, self.core
        text, wrapper = surface.typed(core.style, core.text, core.clause, rng)
        text, small = (text, False) if self.literal else surface.styled(text, rng)
        if not self.literal and rng.random() < 0.13:
            text = surface.with_slips(text, rng)
        slip = rng.random()
        shown = []
        for name in self.names:
            written = name.bare
            if slip < 0.05:
                written = surface.misspelt(written, rng)
            if small or slip > 0.93:
                written = surface.plain_letters(written)
            shown.append(written.lower() if small else written)
        article = ["the " if name.label.startswith("the ") else "" for name in self.names]
        question = surface.filled(text, [a + s for a, s in zip(article, shown, strict=True)])
        in_plan = [surface.name_in_plan(name.bare, s) for name, s in zip(self.names, shown, strict=True)]
        understood = surface.filled(core.understood, [name.label for name in self.names])
        understood = understood[:1].upper() + understood[1:]
        question, understood = _tidy(question), _tidy(understood)
        expects = f"Answer({self.type}{', several' if self.several else ''})"
        with_article = [a + s for a, s in zip(article, in_plan, strict=True)]
        steps = []
        for one in self.plan.lines():
            asked, equals, call = one.partition(" = ")
            asked = surface.filled(asked, with_article).replace("the the ", "the ")
            steps.append(f"{asked}{equals}{surface.filled(call, in_plan)}")
        lines = [f"0. {understood} = {expects}", *steps]
        world = self.world
        known = self.answers is not None and world is not None
        answerable = not known or bool(self.answers)
        titles = dict.fromkeys([name.title for name in self.names] + self._heads()) if known else {}
        pages = world.pages if world is not None else set()
        return {
            "kind": self.kind,
            "question": question,
            "understood": understood,
            "expects": {"type": self.type, "several": self.several},
            "plan": "\n".join(lines),
            "answers": list(dict.fromkeys(self.answers or [])),
            "answerable": answerable,
            "corpus": self.corpus or (world.corpus if known and world is not None else "none"),
            "titles": [title for title in titles if title in pages][:_MOST_TITLES],
            "template": f"{core.template} | {wrapper}",
        }


def _tidy(text: str) -> str:
    """The text without what joining its parts left: an article twice, a comma before the end."""
    return re.sub(r",\s*(?=[?.!]+$|$)", "", text.replace("the the ", "the ")) or text


def told(values: list[Value] | None, several: bool = False) -> list[str] | None:
    """The answers that values are; None where they are not known."""
    if values is None:
        return None
    texts = list(dict.fromkeys(value.text for value in values))
    if several or len(texts) > 1:
        return [forms(text)[0] for text in texts]
    return [form for text in texts for form in forms(text)]


def relation_core(question: Question, relation: Relation, x: str, *, name: bool = True) -> Core:
    """A way to ask for the relation of `x`, a name or a noun phrase in the question."""
    rng = question.rng
    chance = rng.random()
    several = relation.several
    if several and chance < 0.45:
        inside = rng.choice(relation.insides)
        asks = "Who" if relation.type == "person" else "What"
        return Core("list", f"the {inside}".format(x=x), "", f"{asks} are the {inside}?".format(x=x), f"the {inside}")
    if not several and relation.nouns and chance < 0.34:
        noun = rng.choice(relation.nouns)
        # Behind a longer phrase, "'s" would read as its last name's.
        plain = surface.filled(x, [one.label for one in question.names])
        short = name or (" of " not in plain and len(plain.split()) < 4)
        ways = [
            f"the {noun} of {x}",
            f"the name of the {noun} of {x}",
            f"{x}'s {noun}" if short else f"the {noun} of {x}",
        ]
        if relation.type not in ("person", "organisation", "place", "thing"):
            ways[1] = ways[0]
        if name:
            ways += [f"{x} {noun}", f"{x}'s {noun}"]
        place = rng.randrange(len(ways))
        asks = "Who" if relation.type == "person" else "What"
        template = ("of", "name of", "'s", "keyword", "'s")[place]
        style = "raw" if template == "keyword" else "phrase"
        return Core(style, ways[place], "", f"{asks} is the {noun} of {x}?", f"{relation.id} {template} {noun}")
    if name and relation.topic and chance < 0.46:
        topic = question.pronouns(rng.choice(relation.topic))
        ways = [asked for asked, _ in relation.wh if bool(_YEAR.search(asked)) == bool(_YEAR.search(topic))]
        return Core("topic", x, topic, (ways or [relation.step])[0].format(x=x), f"{relation.id} {topic}")
    owned = not name and " of " in surface.filled(x, [one.label for one in question.names])
    asked, clause = rng.choice([way for way in relation.wh if not owned or "{x}'s" not in way[0]])
    return Core("question", asked.format(x=x), clause.format(x=x), asked.format(x=x), asked)


def noun_phrase(relation: Relation, x: str, rng: random.Random) -> str:
    """What stands for the relation's value in a longer question."""
    ways = [f"the {noun} of {x}" for noun in relation.nouns[:2]] * 2
    ways += [f"{x}'s {relation.nouns[0]}"] if relation.nouns else []
    ways += [way.format(x=x) for way in relation.rels]
    return rng.choice(ways)
