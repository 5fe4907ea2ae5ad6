"""Two names or a limit, in the words of people who do not write test questions: compared, computed with, joined."""

from __future__ import annotations

import re

from training.natural_questions.kinds_compare import answer_type, extreme, joined_values, of_kind
from training.natural_questions.kinds_lookup import name_for, source_for
from training.natural_questions.kinds_spoken import limit_of, picked, shapes
from training.natural_questions.plans import Step, Value, name_mark
from training.natural_questions.questions import Question, told
from training.natural_questions.tables import KIND_WORDS, PERSONS, attributes, relations, sets
from training.natural_questions.world import Pool


def compare(pool: Pool) -> Question | None:
    """Which of two."""
    rng = pool.rng
    key = rng.choice(list(shapes()["compare"]))
    ident, direction = key.split(".")
    attribute = attributes()[ident]
    found = of_kind(pool, attribute, 2)
    if not found or any(name.qualifier for name in found):
        return None
    question = Question("compare_2", pool, type=answer_type(found[0].kind))
    a, b = (question.name(name) for name in found)
    person = found[0].kind in PERSONS
    kind = KIND_WORDS[found[0].kind][0]
    row = rng.choice(shapes()["compare"][key])
    said = attribute.directions[direction]["vp"][0]
    asked = f"{'Who' if person else f'Which {kind}'} {said}"
    picked(question, row.format(a=a, b=b, kind=kind), f"{asked}, {a} or {b}?", f"{key} {row}")
    steps = [question.ask(i, attribute.rel, attribute.prop, attribute.ask) for i in (0, 1)]
    question.operate("Compare", list(steps), [direction], f"{asked}?")
    return _extreme_answer(question, steps, direction)


def _extreme_answer(question: Question, steps: list[Step], direction: str) -> Question | None:
    values = joined_values(steps)
    if values is not None:
        firsts = [Value(step.values[0].text, step.values[0].of) for step in steps if step.values]
        best = extreme(firsts, direction) if values else []
        if best is None or len(best) > 1:
            return None
        question.answers = told([value.entity() for value in best])
    return question


def limit(pool: Pool) -> Question | None:
    """Whether one value is beyond a limit."""
    rng = pool.rng
    key = rng.choice(list(shapes()["limits"]))
    ident, direction = key.split(".")
    attribute = attributes()[ident]
    kind = rng.choice(attribute.heads)
    name = name_for(pool, (kind,))
    if name is None:
        return None
    question = Question("yes_no_limit", pool, type="yes/no")
    x, value = question.named(name), limit_of(pool, attribute)
    row = rng.choice(shapes()["limits"][key])
    condition = attribute.directions[direction]["cond"][0].format(v=value)
    was = "Was" if attribute.type == "date" else "Is"
    bare = re.sub(r" (?:people|inhabitants|speakers)$", "", value)
    has = f"Does {x} have {'more' if direction == 'larger' else 'less'} than {value}?"
    understood = has if ident == "population" else f"{was} {x} {condition}?"
    picked(question, row.format(x=x, v=value), understood, f"{key} {row}")
    step = question.ask(0, attribute.rel, attribute.prop, attribute.ask)
    question.operate(
        "Is", [step, bare], [direction], f"{'Was that' if was == 'Was' else 'Is that'} {_beyond(direction)} {bare}?"
    )
    return question


def _beyond(direction: str) -> str:
    return {"earlier": "before", "later": "after", "smaller": "less than", "larger": "more than"}[direction]


_TOGETHER = {
    "sum": ("Sum", "What do they come to together?", "What is the {n} of {a} and {b} together?"),
    "difference": (
        "Difference",
        "What is the difference?",
        "What is the difference between the {n} of {a} and of {b}?",
    ),
    "ratio": ("Ratio", "What is the ratio?", "How many times the {n} of {b} is the {n} of {a}?"),
    "average": ("Average", "What is their average?", "What is the average {n} of {a} and {b}?"),
}


def amounts(pool: Pool) -> Question | None:
    """Sum, difference, ratio or average of two values."""
    rng = pool.rng
    how = rng.choice(["sum", "sum", "difference", "difference", "ratio", "ratio", "average"])
    ident = rng.choice(list(shapes()["amounts"][how]))
    attribute = attributes()[ident]
    found = of_kind(pool, attribute, 2)
    if not found or any(name.qualifier for name in found):
        return None
    number = how == "ratio" or attribute.type == "number"
    question = Question(how, pool, type="number" if number else "quantity")
    a, b = (question.name(name) for name in found)
    row = rng.choice(shapes()["amounts"][how][ident])
    operation, last, plain = _TOGETHER[how]
    picked(question, row.format(a=a, b=b), plain.format(n=attribute.noun, a=a, b=b), row)
    steps = [question.ask(i, attribute.rel, attribute.prop, attribute.ask) for i in (0, 1)]
    question.operate(operation, list(steps), [], last)
    return question


def gap(pool: Pool) -> Question | None:
    """Years between the dates of two things."""
    rng = pool.rng
    ident = rng.choice(list(shapes()["gaps"]))
    attribute = attributes()[ident]
    found = of_kind(pool, attribute, 2)
    if not found or any(name.qualifier for name in found):
        return None
    question = Question("difference_of_dates", pool, type="number")
    a, b = (question.name(name) for name in found)
    row = rng.choice(shapes()["gaps"][ident])
    picked(question, row.format(a=a, b=b), f"How many years lie between the {attribute.noun} of {a} and of {b}?", row)
    steps = [question.ask(i, attribute.rel, attribute.prop, attribute.ask) for i in (0, 1)]
    question.operate("Difference", list(steps), ["years"], "How many years lie between them?")
    return question


def age(pool: Pool) -> Question | None:
    """How old somebody got, or who of two got older."""
    rng = pool.rng
    rows = shapes()["ages"]
    if rng.random() < 0.4:
        way = rng.choice(["lived_longer", "died_younger"])
        found = of_kind(pool, attributes()["died"], 2)
        if not found:
            return None
        question = Question("age_compared", pool, type="person")
        a, b = (question.name(name) for name in found)
        row = rng.choice(rows[way])
        asked = "Who lived longer" if way == "lived_longer" else "Who died younger"
        picked(question, row.format(a=a, b=b), f"{asked}, {a} or {b}?", row)
        groups = []
        for number in (0, 1):
            below: list[Step] = []
            mark = name_mark(number)
            _age_steps(question, number, below)
            groups.append(question.plan.group(f"How old was {mark} at death?", below))
        question.operate("Compare", list(groups), ["larger" if way == "lived_longer" else "smaller"], f"{asked}?")
        return question
    if rng.random() < 0.5:
        name = name_for(pool, attributes()["died"].heads)
        if name is None:
            return None
        question = Question("age", pool, type="number")
        x = question.name(name)
        row = rng.choice(rows["life"])
        picked(question, row.format(x=x), f"How old did {x} get?", row)
        _age_steps(question, 0, question.plan.steps)
        return question
    # Somebody's age when a work named beside them came out.
    kind, ident = rng.choice([("book", "published"), ("film", "released"), ("album", "released"), ("song", "released")])
    work = pool.pick([kind], "table")
    person = pool.pick({"book": ["writer"], "film": ["director"]}.get(kind, ["musician"]), "table")
    if work is None or person is None:
        return None
    question = Question("age", pool, type="number")
    p, x = question.name(person), question.name(work)
    row = rng.choice(rows["at_work"])
    done = "was published" if ident == "published" else "came out"
    picked(question, row.format(p=p, x=x), f"How old was {p} when {x} {done}?", row)
    born = question.ask(0, "date of birth", "date of birth", "When was {x} born?")
    attribute = attributes()[ident]
    out = question.ask(1, attribute.rel, attribute.prop, attribute.ask)
    question.operate("Difference", [out, born], ["years"], f"How old was {p}?")
    return question


def _age_steps(question: Question, number: int, among: list[Step]) -> None:
    born = question.ask(number, "date of birth", "date of birth", "When was {x} born?", among=among)
    died = question.ask(number, "date of death", "date of death", "When did {x} die?", among=among)
    question.operate("Difference", [died, born], ["years"], f"How old did {name_mark(number)} get?", among=among)


def joined(pool: Pool) -> Question | None:
    """Sets put together, what they share, what one lacks."""
    rng = pool.rng
    relation = sets()[rng.choice([*shapes()["joined"], "neighbours"])]
    operation = rng.choice(list(shapes()["joined"][relation.id]))
    row = rng.choice(shapes()["joined"][relation.id][operation])
    kind = "river" if relation.id == "rivercountries" else rng.choice(relation.heads)
    found = pool.several(kind, 2, source_for(pool, (kind,)))
    if len(found) < 2 or any(name.qualifier for name in found):
        return None
    question = Question(operation.lower(), pool, type=relation.type, several=True)
    a, b = (question.name(name) for name in found)
    noun = relation.many
    understood = {
        "Intersect": f"Which {noun} do {a} and {b} have in common?", "Union": f"What are the {noun} of {a} or {b}?",
        "Except": f"Which {noun} does {a} have and {b} not?",
    }[operation]  # fmt: skip
    picked(question, row.format(a=a, b=b), understood, row)
    first, second = question.relate(0, relation), question.relate(1, relation)
    last = {"Intersect": "Which are in both?", "Union": "Which are in either?", "Except": "Which are in the first and not in the second?"}  # fmt: skip
    question.operate(operation, [first, second], [], last[operation])
    return question


def same(pool: Pool) -> Question | None:
    """Whether two things share a value."""
    rng = pool.rng
    ident = rng.choice(list(shapes()["same"]))
    relation = relations()[ident]
    kind = rng.choice(relation.heads)
    found = pool.several(kind, 2, source_for(pool, (kind,)))
    if len(found) < 2 or any(name.qualifier for name in found):
        return None
    question = Question("same", pool, type="yes/no")
    a, b = (question.name(name) for name in found)
    row = rng.choice(shapes()["same"][ident])
    picked(question, row.format(a=a, b=b), f"Do {a} and {b} have the same {relation.nouns[0]}?", row)
    steps = [question.relate(0, relation), question.relate(1, relation)]
    question.operate("Is", list(steps), ["same"], "Are they the same?")
    return question


def of_country(pool: Pool) -> Question | None:
    """Whether something is of a country that an adjective tells; of one thing, or of two."""
    rng = pool.rng
    rows = shapes()["of_country"]
    ident, heads = rng.choice(rows["heads"]).split(":")
    kind = rng.choice(heads.split())
    country, adjective = rng.choice(rows["adjectives"]).split("|")
    two = rng.random() < 0.35
    found = pool.several(kind, 2, "table") if two else [pool.pick([kind], "table")]
    if len(found) < 1 + two or any(name is None or name.qualifier for name in found):
        return None
    rel, asked = {
        "citizenship": ("country of citizenship", "Which country is {x} a citizen of?"),
        "origin": ("country of origin", "Which country is {x} from?"),
    }.get(ident, ("country", "In which country is {x}?"))
    question = Question("both" if two else "yes_no", pool, type="yes/no")
    marks = [question.name(name) for name in found if name is not None]
    the = f"the {country}" if country.startswith("United") or country in ("Netherlands", "Czech Republic") else country
    if not two:
        row = rng.choice(rows["ways"])
        picked(question, row.format(x=marks[0], adj=adjective), f"Is {marks[0]} {adjective}?", row)
        step = question.ask(0, rel, rel, asked)
        question.operate("Is", [step, country], ["same"], f"Is it {the}?")
        return question
    row = rng.choice(rows["both"])
    picked(
        question,
        row.format(a=marks[0], b=marks[1], adj=adjective),
        f"Are {marks[0]} and {marks[1]} both {adjective}?",
        row,
    )
    groups = []
    for number in (0, 1):
        below: list[Step] = []
        step = question.ask(number, rel, rel, asked, among=below)
        question.operate("Is", [step, country], ["same"], f"Is it {the}?", among=below)
        groups.append(question.plan.group(f"Is {marks[number]} {adjective}?", below))
    question.operate("All", list(groups), [], "Are both?")
    return question


def each(pool: Pool) -> Question | None:
    """Two values of two names, named by nouns: each noun goes with its own name."""
    rng = pool.rng
    table = [one for one in relations().values() if one.nouns]
    first = rng.choice(table)
    near = [one for one in table if set(one.heads) & set(first.heads) and one.id != first.id]
    second = rng.choice(near) if near and rng.random() < 0.7 else rng.choice(table)
    question = Question("each", pool, type="thing", several=True)
    parts, asked, groups = [], [], []
    for number, relation in enumerate((first, second)):
        kinds = relation.heads
        if number and (shared := tuple(set(first.heads) & set(relation.heads))):
            kinds = tuple(sorted(shared))
        name = pool.pick(kinds, "table" if rng.random() < 0.7 else source_for(pool, kinds))
        if name is None or name.qualifier or name.label in [one.label for one in question.names]:
            return None
        x = question.name(name)
        noun = rng.choice(relation.nouns)
        parts.append(rng.choice([f"{noun} of {x}", f"the {noun} of {x}", f"{x}'s {noun}", f"the {noun} of {x}"]))
        asked.append(f"{'Who' if relation.type == 'person' else 'What'} is the {noun} of {x}?")
        groups.append(question.relate(number, relation))
    row = rng.choice(shapes()["each"]["two"])
    picked(question, row.format(p=parts[0], q=parts[1]), " ".join(asked), f"{row} {first.id}")
    if first.type == second.type:
        question.type = first.type
    question.operate("Each", list(groups), [], "What is the answer to each?")
    return question
