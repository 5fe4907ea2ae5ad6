"""Single look-ups, yes/no, chains of hops, and described things."""

from __future__ import annotations

import re
from collections.abc import Callable
from random import Random

from training.natural_questions.plans import Value, name_mark
from training.natural_questions.questions import Core, Question, noun_phrase, relation_core, told
from training.natural_questions.tables import PERSONS, Relation, attributes, read, relations, sets, wording
from training.natural_questions.world import Name, Pool, forms, with_article, year_of

# Kinds of names that the values of a relation are, for the hop that follows.
_OUT = {
    "capital": "city", "birthplace": "city", "deathplace": "city", "incountry": "country", "origin": "country",
    "citizenship": "country", "collection": "museum", "educated": "university", "headquarters": "city",
    "located": "city", "premiere_place": "city", "highest": "mountain", "cityriver": "river", "parentbody": "planet",
    "basedon": "book", "publisher": "company", "parent": "company", "stadium": "building", "official": "language",
}  # fmt: skip
_POOR_HOPS = {
    "topic", "domain", "iso", "lifespan", "mass", "roomstate", "weight", "height", "sport", "namedafter", "runtime",
}  # fmt: skip


def source_for(pool: Pool, heads: tuple[str, ...]) -> str:
    """Where to take a name from: half of them from facts, where the facts know the kind."""
    if pool.only:
        return pool.only
    chance = pool.rng.random()
    if chance < 0.5 and any(pool.worlds["starter"].names[kind] for kind in heads):
        return "starter"
    if chance < 0.62 and any(pool.worlds["2wiki"].names[kind] for kind in heads):
        return "2wiki"
    return "table"


def name_for(pool: Pool, heads: tuple[str, ...]) -> Name | None:
    """A name of one of the kinds, from facts or from the tables; None where there is none."""
    return pool.pick(heads, source_for(pool, heads))


def _finish_year(question: Question, relation: Relation) -> None:
    """A last step for the year, where one is asked of a date."""
    question.type = relation.type
    if relation.type == "date" and question.core is not None and question.core.year:
        last = question.plan.steps[-1]
        years = None
        if last.values is not None:
            years = [Value(str(year), value) for value in last.values if (year := year_of(value.text)) is not None]
        question.operate("Part", [last], ["year"], "Which year is that?", years)
        question.type = "year"


def single(pool: Pool, kind: str = "single", chance: float = 0.06) -> Question | None:
    """One relation of a name; with its kind told by `chance`."""
    relation = pool.rng.choice(list(relations().values()))
    name = name_for(pool, relation.heads)
    if name is None:
        return None
    question = Question(kind, pool)
    text = question.named(name, chance)
    question.pick([relation_core(question, relation, text)])
    question.relate(0, relation)
    _finish_year(question, relation)
    question.answers = told(question.plan.steps[-1].values)
    return question


def single_kind(pool: Pool) -> Question | None:
    """A name with its kind in the question: the film Hamlet."""
    kind = pool.rng.choice(
        [
            "film",
            "film",
            "film",
            "book",
            "play",
            "song",
            "album",
            "music",
            "painting",
            "river",
            "moon",
            "planet",
            "element",
            "company",
        ]
    )
    choices = [relation for relation in relations().values() if kind in relation.heads]
    relation = pool.rng.choice(choices)
    name = name_for(pool, (kind,))
    if name is None:
        return None
    if kind == "film" and not name.qualifier and pool.rng.random() < 0.4:
        year = year_of("".join(name.world.facts[name.key, "publication date"][:1])) if name.world and name.key else None
        year = year or pool.rng.randrange(1925, 2023)
        name = Name(name.label, kind, name.key, f"{year} film", name.sex, name.world)
    question = Question("single_kind", pool)
    question.pick([relation_core(question, relation, question.named(name, 1.0))])
    question.relate(0, relation)
    _finish_year(question, relation)
    question.answers = told(question.plan.steps[-1].values)
    return question


def inverse(pool: Pool) -> Question | None:
    """A list: all values of a relation."""
    relation = pool.rng.choice(list(sets().values()))
    name = name_for(pool, relation.heads)
    if name is None:
        return None
    question = Question("list", pool, type=relation.type, several=True)
    question.pick([relation_core(question, relation, question.named(name))])
    question.relate(0, relation)
    question.answers = told(question.plan.steps[-1].values, several=True)
    return question


def wrong_role(pool: Pool) -> Question | None:
    """A relation asked of something that cannot have it, or has it not: nothing is found."""
    pairs = read("misfits")["pairs"]
    ident, kinds = pool.rng.choice(pairs).split(":")
    relation = {**relations(), **sets()}[ident]
    name = pool.pick(kinds.split(), "starter")
    if name is None:
        return None
    question = Question("missing", pool, type=relation.type, several=relation.several)
    question.pick([relation_core(question, relation, question.named(name))])
    question.relate(0, relation)
    if not relation.several:
        _finish_year(question, relation)
    values = question.plan.steps[0].values
    if values:
        return None
    question.answers = []
    return question


_SAME = wording("lookup", "same")
_VALUE_KINDS = wording("lookup", "value_kinds")


# What is said around a yes/no question.
_AROUND = re.compile(r"Is it true|isn't it|right\?$|Would it")


def yes_no(pool: Pool) -> Question | None:
    """Whether a relation has a value told."""
    ident = pool.rng.choice(list(_SAME))
    relation = {**relations(), **sets()}[ident]
    name = name_for(pool, relation.heads)
    if name is None:
        return None
    question = Question("yes_no", pool, type="yes/no")
    question.named(name)
    right = name.world.get(name.key, relation.prop) if name.world is not None and name.key else None
    if right and pool.rng.random() < 0.5:
        value = forms(pool.rng.choice(right))[0]
    elif name.world is not None and name.key and pool.rng.random() < 0.7:
        other = pool.pick([name.kind], name.world.corpus)
        offered = name.world.get(other.key, relation.prop) if other is not None else []
        if not offered:
            return None
        value = forms(pool.rng.choice(offered))[0]
    else:
        made = pool.pick([_VALUE_KINDS[ident]], "table") if ident in _VALUE_KINDS else None
        if made is None:
            return None
        value = made.label
    if value == name.label:
        return None
    mark = name_mark(0)
    told_name = f"the {question.told[0]} {mark}" if question.told[0] else mark
    asked = pool.rng.choice(_SAME[ident])
    question.names.append(Name(with_article(value), "value"))
    question.told.append("")
    text = asked.format(x=told_name, v=name_mark(1))
    clause = ""
    words = text.split(" ", 1)
    if words[0] in ("Is", "Was", "Did", "Does") and ident not in ("neighbours",):
        clause = _whether(asked).format(x=told_name, v=name_mark(1))
    plain = _SAME[ident][0] if _AROUND.search(asked) else asked
    question.pick([Core("question", text, clause, plain.format(x=told_name, v=name_mark(1)), asked)])
    world, names = question.names[0].world, question.names
    question.names = names[:1]
    step = question.relate(0, relation)
    question.names = names
    answers = None
    if right is not None and world is not None and (right or world.complete):
        answers = ["yes" if value in [forms(one)[0] for one in right] else "no"] if right else []
    question.operate("Is", [step, name_mark(1)], ["same"], text, None)
    question.answers = answers
    return _evidence_of_first(question)


def _evidence_of_first(question: Question) -> Question:
    """The evidence is the first name's alone: the other one is a value."""
    first = question.names[0]
    question.names = [first, *(Name(n.label, n.kind, first.key, "", n.sex, first.world) for n in question.names[1:])]
    return question


def _whether(asked: str) -> str:
    """The yes/no question as a clause: "whether" before it and the verb behind its subject, where that is simple."""
    body = asked.rstrip("?")
    for verb in ("Is ", "Was "):
        if body.startswith(verb) and body[len(verb) : len(verb) + 3] in ("{v}", "{x}"):
            subject, rest = body[len(verb) : len(verb) + 3], body[len(verb) + 3 :]
            return f"whether {subject} {verb.strip().lower()}{rest}"
    return ""


def before(pool: Pool) -> Question | None:
    """Whether a date or number of a name lies before, after, above or below a value told."""
    attribute = pool.rng.choice(list(attributes().values()))
    name = name_for(pool, attribute.heads)
    if name is None:
        return None
    date = attribute.type == "date"
    value = (
        str(pool.rng.choice((*range(1700, 2010, 10), 1789, 1848, 1914, 1945, 1969)))
        if date
        else pool.rng.choice(attribute.values)
    )
    direction = pool.rng.choice(
        [one for one in ("earlier", "later", "smaller", "larger") if one in attribute.directions]
    )
    ways = {
        "born": {"earlier": ["Was {x} born before {v}?", "Was {x} already alive in {v}?"], "later": ["Was {x} born after {v}?"]},
        "died": {"earlier": ["Did {x} die before {v}?", "Was {x} already dead in {v}?"], "later": ["Did {x} die after {v}?", "Did {x} live beyond {v}?", "Was {x} still alive in {v}?"]},
        "published": {"earlier": ["Was {x} published before {v}?", "Did {x} come out before {v}?", "Is {x} older than {v}?"], "later": ["Was {x} published after {v}?", "Did {x} come out after {v}?"]},
        "released": {"earlier": ["Was {x} released before {v}?", "Did {x} come out before {v}?"], "later": ["Was {x} released after {v}?", "Is {x} from after {v}?"]},
        "premiere": {"earlier": ["Was {x} first performed before {v}?", "Did {x} premiere before {v}?"], "later": ["Was {x} first performed after {v}?"]},
        "discovered": {"earlier": ["Was {x} discovered before {v}?", "Did people know {x} before {v}?"], "later": ["Was {x} discovered after {v}?"]},
        "founded": {"earlier": ["Was {x} founded before {v}?", "Did {x} exist before {v}?"], "later": ["Was {x} founded after {v}?"]},
        "built": {"earlier": ["Was {x} built before {v}?"], "later": ["Was {x} built after {v}?"]},
        "area": {"larger": ["Is {x} larger than {v}?", "Does {x} cover more than {v}?"], "smaller": ["Is {x} smaller than {v}?"]},
        "population": {"larger": ["Does {x} have more than {v}?", "Are there over {v} in {x}?"], "smaller": ["Does {x} have fewer than {v}?"]},
        "elevation": {"larger": ["Is {x} higher than {v}?", "Is {x} over {v} high?"], "smaller": ["Is {x} lower than {v}?"]},
        "length": {"larger": ["Is {x} longer than {v}?"], "smaller": ["Is {x} shorter than {v}?"]},
        "depth": {"larger": ["Is {x} deeper than {v}?"], "smaller": ["Is {x} less than {v} deep?"]},
        "runtime": {"larger": ["Is {x} longer than {v}?", "Does {x} last more than {v}?"], "smaller": ["Is {x} shorter than {v}?"]},
        "buildingheight": {"larger": ["Is {x} taller than {v}?"], "smaller": ["Is {x} lower than {v}?"]},
        "atomic": {"larger": ["Is the atomic number of {x} above {v}?"], "smaller": ["Is the atomic number of {x} below {v}?"]},
    }.get(attribute.id, {}).get(direction)  # fmt: skip
    if not ways or (not date and not value[0].isdigit()):
        return None
    question = Question("yes_no_limit", pool, type="yes/no")
    text = question.named(name)
    asked = pool.rng.choice(ways)
    said = asked.format(x=text, v=value)
    question.pick([Core("question", said, "", said, asked)])
    step = question.ask(0, attribute.rel, attribute.prop, attribute.ask)
    question.operate("Is", [step, value], [direction], said)
    if step.values is not None:
        question.answers = []
        if step.values and date:
            year = year_of(step.values[0].text)
            if year is None or year == int(value):
                return None
            question.answers = ["yes" if (year < int(value)) == (direction == "earlier") else "no"]
        elif step.values:
            question.answers = None
    return question


def chain_of(
    rng: Random, count: int, named: Callable[[Relation], object], later: Callable[[Relation], bool]
) -> list[Relation] | None:
    """Relations of which each is asked of what the one before gives; None where a chain leads nowhere.

    Args:
        named: whether what a relation gives can be named in a phrase, as all but the last must be.
        later: whether a relation may come after another.
    """
    table = relations().values()

    def leads_on(one: Relation) -> bool:
        return bool(named(one)) and (one.type == "person" or one.id in _OUT)

    chain = [rng.choice([one for one in table if leads_on(one)])]
    while len(chain) < count:
        last = chain[-1]
        kinds = set(PERSONS) if last.type == "person" else {_OUT[last.id]}
        final = len(chain) + 1 == count
        found = [
            one for one in table
            if kinds & set(one.heads) and later(one) and one.id != last.id and (final or leads_on(one))
        ]  # fmt: skip
        if not found:
            return None
        chain.append(rng.choice(found))
    return chain


def hops(pool: Pool, count: int) -> Question | None:
    """A chain: the second relation is asked of what the first one gives, and so on."""
    rng = pool.rng
    chain = chain_of(rng, count, lambda one: one.nouns or one.rels, lambda one: one.id not in _POOR_HOPS)
    if chain is None:
        return None
    name = name_for(pool, chain[0].heads)
    if name is None:
        return None
    question = Question(("two_hops", "three_hops")[count - 2], pool)
    text = text_of_name = question.named(name, 0.1)
    for relation in chain[:-1]:
        text = noun_phrase(relation, text, rng)
    if len(text) > 110:
        return None
    if count == 2 and chain[0].nouns and rng.random() < 0.15:
        noun = chain[0].nouns[0]
        own = question.pronouns("{his}") if name.kind in PERSONS else "its"
        x = text_of_name
        asked = rng.choice(chain[-1].wh)[0]
        said = asked.format(x=f"{own} {noun}").rstrip("?")
        core = Core("topic", x, said[0].lower() + said[1:], asked.format(x=f"the {noun} of {x}"), f"{asked} {noun}")
    else:
        core = relation_core(question, chain[-1], text, name=False)
    question.pick([core])
    step = question.relate(0, chain[0])
    for relation in chain[1:]:
        step = question.relate(step, relation)
    _finish_year(question, chain[-1])
    question.answers = told(question.plan.steps[-1].values)
    return question


_IN_YEAR = wording("lookup", "in_year")


def in_year(pool: Pool) -> Question | None:
    """A relation at one time: the year narrows the relation and is no name."""
    rng = pool.rng
    template, rel, type_, kind, years = rng.choice(_IN_YEAR)
    year = rng.choice(range(*map(int, years.split("-"))))
    year = year // 4 * 4 if "olympic" in template.lower() else year
    prizes = read("descriptions")["contests"]
    name = Name(rng.choice(prizes), "contest") if kind == "contest" else pool.pick([kind], "table")
    if name is None:
        return None
    question = Question("in_year", pool, type=type_)
    x = question.name(name)
    text = template.format(x=x, y=year)
    style = "question" if text.endswith("?") else "phrase"
    asked = {"person": "Who was", "place": "Which was"}.get(type_, "What was")
    understood = text if style == "question" else f"{asked} {text}?"
    question.pick([Core(style, text, "", understood, template)])
    question.ask(
        0,
        f"{rel} in {year}",
        "",
        understood.replace(x, "{x}").replace("the {x}", "{x}")
        if name.label.startswith("the ")
        else understood.replace(x, "{x}"),
    )
    return question


_INVERSE_HOPS = wording("lookup", "inverse_hops")


def inverse_hop(pool: Pool) -> Question | None:
    """A hop backwards and one on: the company that somebody founded, and where it is."""
    rng = pool.rng
    rel, phrase, asked, _type, kind, heads, prop = rng.choice(_INVERSE_HOPS)
    name = name_for(pool, tuple(heads.split()))
    choices = [one for one in relations().values() if kind in one.heads and one.id not in _POOR_HOPS]
    if name is None or not choices or ("widow" in phrase and name.sex != "m"):
        return None
    relation = rng.choice(choices)
    question = Question("inverse_hop", pool)
    text = phrase.format(x=question.named(name))
    question.pick([relation_core(question, relation, text, name=False)])
    step = question.ask(0, rel, prop or rel, asked)
    if step.values is not None and (not prop or not step.values or len(step.values) > 1):
        step.values = None
    question.relate(step, relation)
    _finish_year(question, relation)
    question.answers = told(question.plan.steps[-1].values)
    return question


def described(pool: Pool) -> Question | None:
    """A thing that is described and not named, and what is asked of it."""
    rng = pool.rng
    description, kind, word, asked = rng.choice(read("descriptions")["things"]).split("|")
    question = Question("described", pool)
    mark = question.name(Name(description, kind))
    text = f"the {mark}"
    step_text = f"{asked} is the {mark}?"
    if rng.random() < 0.2:
        question.type = word
        core = Core("phrase", text, "", step_text, asked)
        question.pick([core, Core("question", step_text, f"{asked.lower()} the {mark} is", step_text, asked)])
        question.plan.add(step_text, f'Search("{mark}", "{_search_kind(kind)}")', None)
        return question
    kinds = set(PERSONS) if kind == "person" else {kind}
    choices = [one for one in relations().values() if kinds & set(one.heads) and one.id not in _POOR_HOPS]
    if not choices:
        return None
    relation = rng.choice(choices)
    question.pick([relation_core(question, relation, text, name=False)])
    step = question.plan.add(step_text, f'Search("{mark}", "{_search_kind(kind)}")', None)
    question.relate(step, relation)
    _finish_year(question, relation)
    return question


def _search_kind(kind: str) -> str:
    return {"music": "musical work", "element": "chemical element", "leader": "person"}.get(kind, kind)
