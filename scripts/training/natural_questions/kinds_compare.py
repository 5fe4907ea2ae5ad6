"""Comparisons: of two, of three, over hops, of ages; the same or different; both, all; differences, ratios, sums."""

from __future__ import annotations

from collections.abc import Callable

from training.natural_questions.kinds_lookup import source_for
from training.natural_questions.plans import Step, Value, name_mark
from training.natural_questions.questions import Core, Question, told
from training.natural_questions.tables import KIND_WORDS, PERSONS, Attribute, attributes, relations, wording
from training.natural_questions.world import Name, Pool, forms, order_of, with_article

_TWO = wording("compare", "two")
_THREE = wording("compare", "three")


def of_kind(pool: Pool, attribute: Attribute, count: int) -> list[Name]:
    kind = pool.rng.choice(attribute.heads)
    source = source_for(pool, (kind,))
    # Persons may be of different trades.
    if kind in PERSONS and source == "table":
        kinds = [one for one in attribute.heads if one in PERSONS]
        found = [name for name in (pool.pick([pool.rng.choice(kinds)], source) for _ in range(count)) if name]
    else:
        found = pool.several(kind, count, source)
    return found if len({name.label for name in found}) == count else []


def _asks(name: Name, rng_choice: Callable[[list[str]], str]) -> tuple[str, str]:
    if name.kind in PERSONS:
        return "Who", "who"
    word = f" {KIND_WORDS[name.kind][0]}" if rng_choice(["kind", "", ""]) else ""
    return f"Which{word}", "which one" if not word else f"which{word}"


_ANSWER = {
    "book": "work", "play": "work", "film": "work", "song": "work", "album": "work", "music": "work", "painting": "work", "series": "work",
    "country": "place", "city": "place", "mountain": "place", "river": "place", "lake": "place", "island": "place", "state": "place",
    "building": "place", "company": "organisation", "university": "organisation", "museum": "organisation", "team": "organisation",
    "band": "organisation", "organization": "organisation", "battle": "event", "event": "event",
}  # fmt: skip


def answer_type(kind: str) -> str:
    return "person" if kind in PERSONS else _ANSWER.get(kind, "thing")


def extreme(values: list[Value], direction: str) -> list[Value] | None:
    """The values that are extreme in the direction; None where some value cannot be ordered or is of another kind."""
    keyed = [(order_of(value.text), value) for value in values]
    if not keyed or any(key is None for key, _ in keyed):
        return None
    found = [(key, value) for key, value in keyed if key is not None]
    if len({len(key) for key, _ in found}) > 1:
        found = [(key[:1], value) for key, value in found]
    best = (min if direction in ("earlier", "smaller") else max)(key for key, _ in found)
    winners = [value for key, value in found if key == best]
    return winners if len(winners) < len(found) or len(found) == 1 else None


def joined_values(steps: list[Step]) -> list[Value] | None:
    """The values of all steps; None where one is not known, [] where one has none."""
    if any(step.values is None for step in steps):
        return None
    values = [value for step in steps for value in step.values or []]
    return values if all(step.values for step in steps) else []


def compare(pool: Pool, count: int) -> Question | None:
    """Which of two or three is extreme."""
    rng = pool.rng
    attribute = rng.choice(list(attributes().values()))
    found = of_kind(pool, attribute, count)
    if not found:
        return None
    direction = rng.choice(list(attribute.directions))
    words = attribute.directions[direction]
    question = Question(f"compare_{count}", pool, type=answer_type(found[0].kind))
    marks = [question.named(name) for name in found]
    big, small = _asks(found[0], rng.choice)
    said = rng.choice(words["vp"])
    template = rng.choice(_TWO if count == 2 else _THREE)
    if count == 3 and rng.random() < 0.5:
        said = (
            f"{'was' if attribute.type == 'date' and found[0].kind in PERSONS else 'is'} the {rng.choice(words['sup'])}"
        )
    letters = dict(zip("abc", marks, strict=False))
    text = template.format(W=big, w=small, vp=said, **letters)
    listed = f"{marks[0]} or {marks[1]}" if count == 2 else f"{marks[0]}, {marks[1]} or {marks[2]}"
    kind_word = "Who" if big == "Who" else f"Which {KIND_WORDS[found[0].kind][0]}"
    understood = f"{kind_word} {said}, {listed}?"
    clause = f"{understood[0].lower()}{understood[1:-1]}" if template in (_TWO[0], _THREE[0]) else ""
    question.pick([Core("question", text, clause, understood, f"{attribute.id} {said} {template}")])
    steps = [question.ask(i, attribute.rel, attribute.prop, attribute.ask) for i in range(count)]
    last = f"{kind_word} {said}?"
    question.operate("Compare", list(steps), [direction], last)
    values = joined_values(steps)
    if values is not None:
        best = (
            extreme([Value(step.values[0].text, step.values[0].of) for step in steps if step.values], direction)
            if values
            else []
        )
        if best is None or len(best) > 1:
            return None
        question.answers = told([value.entity() for value in best])
    return question


_BRIDGES = wording("compare", "bridges")
_BRIDGE_WAYS = wording("compare", "bridge_ways")


def bridge(pool: Pool) -> Question | None:
    """A comparison of what two names lead to: the film with the older director."""
    rng = pool.rng
    ident, kind, attr, said, adjectives = rng.choice(_BRIDGES)
    relation, attribute = relations()[ident], attributes()[attr]
    found = pool.several(kind, 2, source_for(pool, (kind,)))
    if len(found) < 2:
        return None
    direction = rng.choice(list(adjectives))
    question = Question("bridge_comparison", pool, type=answer_type(kind))
    a, b = (question.named(name, 0.08) for name in found)
    word = "Who" if kind in PERSONS else f"Which {KIND_WORDS[kind][0]}"
    main = said.format(W=word, adj=adjectives[direction])
    small = main[0].lower() + main[1:]
    template = rng.choice(_BRIDGE_WAYS)
    text = template.format(s=main, t=small, a=a, b=b)
    question.pick([Core("question", text, "", f"{main}, {a} or {b}?", f"{said} {template}")])
    groups = []
    for number in (0, 1):
        below: list[Step] = []
        first = question.relate(number, relation, among=below)
        question.ask(first, attribute.rel, attribute.prop, attribute.ask, among=below)
        noun = relation.nouns[0]
        asked = attribute.ask.format(x=f"the {noun} of {name_mark(number)}")
        groups.append(question.plan.group(asked, below))
    question.operate("Compare", list(groups), [direction], f"{main}?")
    values = joined_values(groups)
    if values is not None:
        if any(len(group.values or []) > 1 for group in groups):
            return None
        best = extreme(values, direction) if values else []
        if best is None or len(best) > 1:
            return None
        question.answers = told([value.of.of for value in best if value.of and value.of.of])
    return question


_AGE = wording("compare", "age")


def age_at_death(pool: Pool) -> Question | None:
    """Who lived longer: the ages are compared, not the dates."""
    rng = pool.rng
    found = of_kind(pool, attributes()["died"], 2)
    if not found:
        return None
    question = Question("age_compared", pool, type="person")
    a, b = (question.name(name) for name in found)
    direction = rng.choice(list(_AGE))
    template = rng.choice(_AGE[direction])
    text = template.format(W="Who", a=a, b=b)
    question.pick(
        [Core("question", text, text[0].lower() + text[1:-1] if text.startswith("Who") else "", text, template)]
    )
    groups, ages, missing = [], [], False
    for number, name in enumerate(found):
        below: list[Step] = []
        mark = name_mark(number)
        born = question.ask(number, "date of birth", "date of birth", "When was {x} born?", among=below)
        died = question.ask(number, "date of death", "date of death", "When did {x} die?", among=below)
        question.operate("Difference", [died, born], ["years"], f"How old did {mark} get?", among=below)
        groups.append(question.plan.group(f"How old was {mark} at death?", below))
        if born.values and died.values:
            first, last = order_of(born.values[0].text), order_of(died.values[0].text)
            if first and last and len(first) == len(last) == 3:
                ages.append((last[0] - first[0] - (last[1:] < first[1:]), name))
        elif born.values is None or died.values is None:
            ages.append((-1.0, name))
        else:
            missing = True
    question.operate(
        "Compare",
        list(groups),
        [direction],
        text.split(",")[0].rstrip("?") + "?"
        if text.startswith("Who")
        else f"Who {'lived longer' if direction == 'larger' else 'died younger'}?",
    )
    if question.world is not None and missing:
        question.answers = []
    elif question.world is not None and len(ages) == 2 and ages[0][0] >= 0 <= ages[1][0] and ages[0][0] != ages[1][0]:
        best = (max if direction == "larger" else min)(ages, key=lambda one: one[0])
        question.answers = [best[1].label]
    return question


_SAME = wording("compare", "same")


def same(pool: Pool) -> Question | None:
    """Whether two names share a value, or have different ones."""
    rng = pool.rng
    ident, ways = rng.choice(_SAME)
    relation = relations()[ident]
    kind = rng.choice(relation.heads)
    found = pool.several(kind, 2, source_for(pool, (kind,)))
    if len(found) < 2:
        return None
    question = Question("same", pool, type="yes/no")
    a, b = (question.named(name, 0.05) for name in found)
    template = rng.choice(ways)
    word = "same"
    if rng.random() < 0.22 and "the same" in template and "as {b}" not in template:
        template = template.replace("the same", "different", 1)
        word = "different"
        for one in ("nationality", "place", "city", "country", "director", "author", "composer", "artist", "painter", "museum", "currency", "continent", "planet", "sea", "university", "profession", "language", "founder", "architect", "singer", "person"):  # fmt: skip
            if template.rstrip("?").endswith(f"different {one}") or f"different {one} " in template:
                plural = {"person": "people"}.get(one, one[:-1] + "ies" if one.endswith("y") else one + "s")
                template = template.replace(f"different {one}", f"different {plural}")
    text = template.format(a=a, b=b)
    question.pick([Core("question", text, "", text, template)])
    first, second = question.relate(0, relation), question.relate(1, relation)
    question.operate("Is", [first, second], [word], text)
    if first.values is not None and second.values is not None:
        mine, others = ({value.text for value in step.values or []} for step in (first, second))
        if mine != others and mine & others:
            return None
        question.answers = ["yes" if (mine == others) == (word == "same") else "no"] if mine and others else []
    return question


_BOTH = wording("compare", "both")
_THREE_TOO = {"Are both {a} and {b}": "Are {a}, {b} and {c} all", "Were both {a} and {b}": "Were {a}, {b} and {c} all", "Do both {a} and {b}": "Do {a}, {b} and {c} all"}  # fmt: skip


def both(pool: Pool) -> Question | None:
    """Whether a value told is that of both, of all three, or of either."""
    rng = pool.rng
    ident, ways, value_kind = rng.choice(_BOTH)
    relation = relations()[ident]
    kind = rng.choice(relation.heads)
    template, count, name = rng.choice(ways), 2, "All"
    for start, longer in _THREE_TOO.items():
        if template.startswith(start) and rng.random() < 0.4:
            template, count = template.replace(start, longer), 3
    if count == 2 and rng.random() < 0.3 and "both" in template:
        name = "Any"
        template = template.replace("both {a} and {b}", "{a} or {b}").replace("{a} and {b} both", "{a} or {b}")
    found = pool.several(kind, count, source_for(pool, (kind,)))
    if len(found) < count:
        return None
    rights = [one.world.get(one.key, relation.prop) if one.world and one.key else [] for one in found]
    if rights[0] and rng.random() < 0.75:
        value = forms(rng.choice(rights[0]))[0]
        if rng.random() < 0.4 and found[0].world is not None:
            world = found[0].world
            alike = [
                one
                for one in world.names[kind]
                if world.get(one.key, relation.prop)[:1] == rights[0][:1] and one is not found[0]
            ]
            found = [found[0], *rng.sample(alike, min(count - 1, len(alike)))]
            if len({one.label for one in found}) < count:
                return None
    elif value_kind == "job":
        value = rng.choice(
            (
                "composer",
                "painter",
                "physicist",
                "novelist",
                "poet",
                "film director",
                "chemist",
                "lawyer",
                "astronomer",
                "singer",
            )
        )
    elif value_kind in ("state", "currency"):
        value = rng.choice(
            ("gas", "metal", "solid", "liquid") if value_kind == "state" else ("euro", "dollar", "peso", "pound")
        )
    else:
        picked = pool.pick([value_kind], "table")
        if picked is None:
            return None
        value = picked.label
    question = Question("both", pool, type="yes/no")
    marks = dict(zip("abc", (question.named(one) for one in found), strict=False))
    text = template.format(v=with_article(value), **marks).replace("gass ", "gases ").replace("gass?", "gases?")
    question.pick([Core("question", text, "", text, template)])
    groups, truths = [], []
    for number in range(count):
        below: list[Step] = []
        step = question.relate(number, relation, among=below)
        mark = name_mark(number)
        asked = _each_one(relation.id, mark, with_article(value))
        question.operate("Is", [step, value], ["same"], asked, among=below)
        groups.append(question.plan.group(asked, below))
        truths.append(
            None if step.values is None else (value in {forms(v.text)[0] for v in step.values} if step.values else "?")
        )
    question.operate(name, list(groups), [], text)
    if question.world is not None and None not in truths:
        if "?" in truths:
            question.answers = []
        else:
            question.answers = ["yes" if (all if name == "All" else any)(truths) else "no"]
    return question


def _each_one(ident: str, x: str, value: str) -> str:
    return {
        "incountry": f"Is {x} in {value}?", "continent": f"Is {x} in {value}?", "citizenship": f"Was {x} a citizen of {value}?",
        "birthplace": f"Was {x} born in {value}?", "author": f"Did {value} write {x}?", "director": f"Did {value} direct {x}?",
        "composer": f"Did {value} compose {x}?", "creator": f"Did {value} paint {x}?", "occupation": f"Was {x} a {value}?",
        "parentbody": f"Does {x} orbit {value}?", "discoverer": f"Did {value} discover {x}?", "roomstate": f"Is {x} a {value}?",
        "currency": f"Does {x} use the {value}?", "official": f"Do they speak {value} in {x}?", "headquarters": f"Is {x} based in {value}?",
    }[ident]  # fmt: skip
