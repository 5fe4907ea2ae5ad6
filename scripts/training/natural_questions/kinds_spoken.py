"""Known shapes in the words of people who do not write test questions: topic first, halves of sentences, other verbs."""

from __future__ import annotations

import re
from functools import cache
from typing import Any

from training.natural_questions.kinds_lookup import chain_of, name_for
from training.natural_questions.kinds_sets import attribute_step, compared, direction_of, set_of
from training.natural_questions.plans import Value
from training.natural_questions.questions import Core, Question, noun_phrase, told
from training.natural_questions.tables import (
    KIND_WORDS,
    Attribute,
    Relation,
    attributes,
    read,
    relations,
    sets,
)
from training.natural_questions.world import Name, Pool, year_of

_WORDS_OF_COUNT = {"two": "2", "three": "3", "four": "4", "five": "5", "2": "2", "3": "3", "4": "4"}
# Their first is not the one that was founded first.
_JOINED_LATER = {"schools", "subsidiaries"}


@cache
def _asks() -> dict[str, list[str]]:
    return dict(read("spoken_asks"))


@cache
def shapes() -> dict[str, Any]:
    return read("spoken_shapes")


def picked(question: Question, text: str, understood: str, key: str) -> None:
    """The question as it is typed: the row as it stands, seldom with a word before or after it."""
    rng = question.rng
    if rng.random() < 0.16:
        text = rng.choice(
            ["so {q}", "hey, {q}", "{q} pls", "{q}, please", "please: {q}", "{q} thx", "hm, {q}", "ok {q}", "{q} again?", "btw {q}", "{q}, do you know"]
        ).format(q=text.rstrip("?"))  # fmt: skip
    text = re.sub(r"\b[Tt]he ([Tt]he )", r"\1", text)
    question.pick([Core("raw", text, "", understood, key)])


def ask(pool: Pool) -> Question | None:
    """One value of a name."""
    relation = relations()[pool.rng.choice(list(_asks()))]
    name = name_for(pool, relation.heads)
    if name is None:
        return None
    question = Question("single", pool)
    _asked(question, relation, question.named(name, 0.03))
    question.relate(0, relation)
    _year_last(question, relation)
    question.answers = told(question.plan.steps[-1].values)
    return question


def _asked(question: Question, relation: Relation, x: str, understood: str = "") -> None:
    row = question.rng.choice(_asks()[relation.id])
    row, year = row.removesuffix("#y"), row.endswith("#y")
    plain = relation.step.format(x=understood or x)
    if year:
        plain = re.sub(r"^When ", "In what year ", plain)
    picked(question, row.format(x=x), plain, row)


def _year_last(question: Question, relation: Relation) -> None:
    question.type = relation.type
    if relation.type == "date" and question.core is not None and question.core.year:
        last = question.plan.steps[-1]
        years = None
        if last.values is not None:
            years = [Value(str(year), value) for value in last.values if (year := year_of(value.text)) is not None]
        question.operate("Part", [last], ["year"], "Which year is that?", years)
        question.type = "year"


def hops(pool: Pool, count: int) -> Question | None:
    """A chain whose last question is asked in such words."""
    rng = pool.rng
    chain = chain_of(rng, count, lambda one: one.nouns, lambda one: one.id in _asks())
    if chain is None:
        return None
    name = name_for(pool, chain[0].heads)
    if name is None:
        return None
    question = Question(("two_hops", "three_hops")[count - 2], pool)
    text = plain = question.named(name, 0.05)
    for relation in chain[:-1]:
        text = noun_phrase(relation, text, rng)
        plain = f"the {relation.nouns[0]} of {plain}"
    if len(text) > 100:
        return None
    _asked(question, chain[-1], text, plain)
    step = question.relate(0, chain[0])
    for relation in chain[1:]:
        step = question.relate(step, relation)
    _year_last(question, chain[-1])
    question.answers = told(question.plan.steps[-1].values)
    return question


def of_year(pool: Pool) -> Question | None:
    """A work told by its year."""
    rng = pool.rng
    kind = rng.choice(["film", "film", "film", "film", "song", "album"])
    fits = [one for one in relations().values() if kind in one.heads and one.id in _asks() and one.id != "released"]
    relation = rng.choice(fits)
    name = pool.pick(["book", "play", "film"] if kind == "film" else [kind], "table" if kind == "film" else "")
    if name is None or name.qualifier:
        return None
    year = rng.randrange(1920, 2024)
    name = Name(name.label, kind, "", f"{year} {kind}")
    question = Question("single_kind", pool)
    mark = question.name(name, f"{year} {kind}")
    frame = rng.choice(shapes()["of_year"][kind])
    x = frame.format(x=mark, y=year)
    if rng.random() < 0.5:
        row = rng.choice([one for one, _ in relation.wh])
        text, key = row.format(x=x), f"{frame} {row}"
    else:
        row = rng.choice([one for one in _asks()[relation.id] if not one.endswith("#y")])
        text, key = row.format(x=x), f"{frame} {row}"
    if text.count("(") > 1:
        return None
    understood = relation.step.format(x=f"the {year} {kind} {mark}")
    picked(question, text, understood, key)
    question.ask(0, relation.rel, relation.prop, relation.step)
    question.type = relation.type
    return question


def _members(relation: Relation, x: str, pool: Pool) -> str:
    own = shapes()["members"].get(relation.id, [])
    return str(pool.rng.choice([*own, *own, *relation.insides])).format(x=x)


def superlative(pool: Pool) -> Question | None:
    """The extreme member of a set: the set, the value of each, and the comparison."""
    found = set_of(pool, "superlative", attrs=True)
    if found is None:
        return None
    question, relation, x, _ = found
    rng = pool.rng
    attribute = attributes()[rng.choice(relation.attrs)]
    direction, words = direction_of(pool, attribute)
    sup = rng.choice(words["sup"])
    if relation.id in _JOINED_LATER and sup in ("first", "last", "earliest", "latest"):
        return None
    one = rng.choice(relation.inside).format(x=x)
    if rng.random() < 0.5:
        row = rng.choice(shapes()["superlative"]["ways"])
        text = row.format(sup=sup, many=_members(relation, x, pool))
    else:
        row = rng.choice(shapes()["which"]["ways"])
        text = row.format(sup=sup, one=one, noun=attribute.noun)
    who = "Who" if relation.type == "person" else "Which"
    picked(question, text, f"{who} is the {sup} {one}?", f"{row} {relation.id}")
    return compared(question, relation, attribute, direction, sup)


def ranked(pool: Pool) -> Question | None:
    """The first few of a set, or all in order."""
    top = pool.rng.random() < 0.5
    found = set_of(pool, "top" if top else "sort", attrs=True)
    if found is None:
        return None
    question, relation, x, _ = found
    question.several = True
    rng = pool.rng
    attribute = attributes()[rng.choice(relation.attrs)]
    direction, words = direction_of(pool, attribute)
    sup = words["sup"][0] if not top else rng.choice(words["sup"])
    plain, asks = relation.insides[0].format(x=x), "Who" if relation.type == "person" else "What"
    n = rng.choice(list(_WORDS_OF_COUNT))
    row = rng.choice(shapes()["sorted"]["top" if top else "ways"])
    text = row.format(many=_members(relation, x, pool), sup=sup, first=sup, noun=attribute.noun, n=n)
    understood = f"{asks} are the {n} {sup} {plain}?" if top else f"{asks} are the {plain}, {sup} first?"
    picked(question, text, understood, f"{row} {relation.id}")
    members = question.relate(0, relation)
    step = attribute_step(question, members, attribute)
    if top:
        question.operate("Top", [step], [direction, _WORDS_OF_COUNT[n]], f"Which are the {n} {sup}?")
    else:
        question.operate("Sort", [step], [direction], f"In what order, {sup} first?")
    if members.values is not None and not members.values:
        question.answers = []
    return question


def limit_of(pool: Pool, attribute: Attribute) -> str:
    if attribute.type == "date" and pool.rng.random() < 0.8:
        return str(pool.rng.randrange(1500, 2020))
    return pool.rng.choice(attribute.values)


def chosen(pool: Pool) -> Question | None:
    """The members of a set beyond a limit, or how many they are."""
    count = pool.rng.random() < 0.35
    found = set_of(pool, "count_if" if count else "select", attrs=True)
    if found is None:
        return None
    question, relation, x, _ = found
    rng = pool.rng
    attribute = attributes()[rng.choice(relation.attrs)]
    direction, words = direction_of(pool, attribute)
    rows = shapes()["conditions"].get(f"{attribute.id}.{direction}")
    if not rows:
        return None
    value, row = limit_of(pool, attribute), rng.choice(rows)
    many, plain = _members(relation, x, pool), relation.insides[0].format(x=x)
    condition = words["cond"][0].format(v=value)
    said = row.format(v=value)
    if count:
        frame = rng.choice(["how many {m} {c}", "{m} {c} - how many", "number of {m} {c}", "{m} {c}: count them", "how many of {m} are {c}", "count of {m} {c}", "of {m}, how many are {c}"])  # fmt: skip
    else:
        frame = rng.choice(["{m} {c}", "{m} {c}", "which {m} are {c}", "{m}, but only {c}", "any {m} {c}", "{m} {c} please", "of {m}, which are {c}", "name {m} {c}", "show me {m} {c}", "{m}: those {c}"])  # fmt: skip
    if said.split()[0] in ("that", "where") and " are " in frame:
        return None
    asks = "Who" if relation.type == "person" else "Which"
    understood = f"How many {plain} {condition} are there?" if count else f"{asks} are the {plain} {condition}?"
    question.several = not count
    picked(question, frame.format(m=many, c=said), understood, f"{frame} {row}")
    members = question.relate(0, relation)
    step = attribute_step(question, members, attribute)
    bare = re.sub(r" (?:people|inhabitants|speakers)$", "", value)
    kept = question.operate("Select", [step, bare], [direction], f"Which of them are {_those(condition)}?")
    if count:
        question.type = "number"
        question.operate("Count", [kept], [], "How many are they?")
    if members.values is not None and not members.values:
        question.answers = []
    return question


def _those(condition: str) -> str:
    return f"those {condition}" if condition.split(maxsplit=1)[0] in ("that", "who", "with", "where") else condition


def counted(pool: Pool) -> Question | None:
    """How many members a set has."""
    found = set_of(pool, "count")
    if found is None:
        return None
    question, relation, x, _ = found
    row = pool.rng.choice(shapes()["counted"]["ways"])
    plain = relation.insides[0].format(x=x)
    picked(
        question, row.format(many=_members(relation, x, pool)), f"How many {plain} are there?", f"{row} {relation.id}"
    )
    question.type = "number"
    members = question.relate(0, relation)
    question.operate("Count", [members], [], "How many are they?")
    if members.values is not None:
        question.answers = [str(len({value.text for value in members.values}))] if members.values else []
    return question


def listed(pool: Pool) -> Question | None:
    """All members of a set."""
    ident = pool.rng.choice(list(shapes()["members"]))
    relation = sets()[ident]
    name = name_for(pool, relation.heads)
    if name is None:
        return None
    question = Question("list", pool, type=relation.type, several=True)
    x = question.named(name)
    frame = pool.rng.choice(["{m}", "{m}?", "{m} please", "all {m}", "{m} - which ones", "who or what are {m}", "give me {m}", "any {m}", "{m}, the lot", "{m} - all of them", "do you have {m}"])  # fmt: skip
    asks = "Who" if relation.type == "person" else "What"
    plain = relation.insides[0].format(x=x)
    own = pool.rng.choice(shapes()["members"][ident]).format(x=x)
    picked(question, frame.format(m=own), f"{asks} are the {plain}?", f"{frame} {own[:-1]}")
    question.relate(0, relation)
    question.answers = told(question.plan.steps[-1].values, several=True)
    return question


def topic(pool: Pool) -> Question | None:
    """A bare name, also one in another language: it is a topic."""
    rng = pool.rng
    if rng.random() < 0.5:
        titles = read("spoken_chat")["foreign"]
        name: Name | None = Name(rng.choice(titles), "book")
    else:
        name = pool.pick(
            [kind for kind in KIND_WORDS if kind not in ("continent", "state", "award", "job", "play")], "table"
        )
    if name is None:
        return None
    question = Question("summary", pool, type="summary")
    x = question.name(name)
    row = rng.choice(["{x}", "{x}", "{x}", "{x}", "{x}?", "{x}, please", "about {x}", "{x} info", "what about {x}", "{x} - a few words", "something on {x}", "{x} in short", "who or what is {x}"])  # fmt: skip
    question.pick([Core("raw", row.format(x=x), "", f"Tell me about {x}.", f"{row} {name.label}")])
    return question


def no_question(pool: Pool) -> Question:
    """Small talk, thanks and noise."""
    text = pool.rng.choice(read("spoken_chat")["nothing"])
    question = Question("nothing", pool, type="nothing", literal=True)
    question.pick([Core("raw", text, "", text, f"nothing {text}")])
    return question


def other_language(pool: Pool) -> Question:
    """Questions and small talk in other languages."""
    rng = pool.rng
    text = rng.choice(read("spoken_chat")["language"])
    if rng.random() < 0.3:
        text = rng.choice((text.lower(), text.rstrip("?.! "), text.lower().rstrip("?.! ")))
    question = Question("language", pool, type="language", literal=True)
    question.pick([Core("raw", text, "", text, f"language {text}")])
    return question
