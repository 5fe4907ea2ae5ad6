"""Sets in an order: extremes, the first few, all in order, the second; totals over a set."""

from __future__ import annotations

from training.natural_questions.kinds_compare import extreme
from training.natural_questions.kinds_lookup import name_for
from training.natural_questions.plans import Step, name_mark
from training.natural_questions.questions import Core, Question, told
from training.natural_questions.tables import Attribute, Relation, attributes, sets, wording
from training.natural_questions.world import Name, Pool, number_of, order_of

_COUNTS = {"two": "2", "three": "3", "four": "4", "five": "5", "3": "3", "5": "5", "ten": "10", "2": "2"}


def set_of(
    pool: Pool, kind: str, *, attrs: bool = False, texts: bool = False
) -> tuple[Question, Relation, str, Name] | None:
    choices = [one for one in sets().values() if (not attrs or one.attrs) and (not texts or one.texts)]
    relation = pool.rng.choice(choices)
    name = name_for(pool, relation.heads)
    if name is None:
        return None
    question = Question(kind, pool, type=relation.type)
    return question, relation, question.named(name), name


def members_of(relation: Relation, x: str, pool: Pool) -> str:
    return pool.rng.choice(relation.insides).format(x=x)


def attribute_step(question: Question, members: Step, attribute: Attribute) -> Step:
    step = question.ask(members, attribute.rel, attribute.prop, attribute.ask)
    # A comparison leaves out none of a set: with a value missing, its result is not known.
    if step.values is not None and members.values and len({value.of for value in step.values}) < len(members.values):
        step.values = [] if not step.values else None
    return step


def direction_of(pool: Pool, attribute: Attribute) -> tuple[str, dict[str, list[str]]]:
    direction = pool.rng.choice(
        [*attribute.directions, *(one for one in attribute.directions if one in ("larger", "earlier"))]
    )
    return direction, attribute.directions[direction]


_MOST = wording("sets", "most")


def superlative(pool: Pool) -> Question | None:
    """The extreme member of a set."""
    found = set_of(pool, "superlative", attrs=True)
    if found is None:
        return None
    question, relation, x, _ = found
    rng = pool.rng
    attribute = attributes()[rng.choice(relation.attrs)]
    direction, words = direction_of(pool, attribute)
    one, many = rng.choice(relation.inside).format(x=x), members_of(relation, x, pool)
    sup = rng.choice(words["sup"])
    wh = "Who" if relation.type == "person" else "What"
    understood = f"{'Who' if relation.type == 'person' else 'Which'} is the {sup} {one}?"
    if rng.random() < 0.4:
        core = Core("phrase", f"the {sup} {one}", "", understood, f"phrase {attribute.id} {sup} {relation.id}")
    else:
        template = rng.choice([way for way in _MOST if "{vp}" not in way])
        text = template.format(wh=wh, sup=sup, one=one, many=many)
        clause = f"{wh.lower()} the {sup} {one} is" if template == _MOST[0] else ""
        core = Core("question", text, clause, understood, f"{template} {attribute.id} {sup}")
    question.pick([core])
    return compared(question, relation, attribute, direction, sup)


def compared(question: Question, relation: Relation, attribute: Attribute, direction: str, sup: str) -> Question | None:
    """The question with its steps: the members of the set, the value of each, and the extreme of these.

    None where the values cannot be compared.
    """
    members = question.relate(0, relation)
    step = attribute_step(question, members, attribute)
    question.operate("Compare", [step], [direction], f"Which is the {sup}?")
    if members.values is not None and not members.values:
        question.answers = []
    elif step.values is not None:
        best = extreme(step.values, direction) if step.values else []
        if best is None:
            return None
        question.answers = told([value.entity() for value in best])
    return question


def ranked(pool: Pool) -> Question | None:
    """The first n of a set, or all in order."""
    top = pool.rng.random() < 0.6
    found = set_of(pool, "top" if top else "sort", attrs=True)
    if found is None:
        return None
    question, relation, x, _ = found
    question.several = True
    rng = pool.rng
    attribute = attributes()[rng.choice(relation.attrs)]
    direction, words = direction_of(pool, attribute)
    many = members_of(relation, x, pool)
    sup = rng.choice(words["sup"])
    asks = "Who" if relation.type == "person" else "What"
    if top:
        said = rng.choice(list(_COUNTS))
        understood = f"{asks} are the {said} {sup} {many}?"
        ways = [
            ("phrase", f"the {said} {sup} {many}", "np"), ("list", f"the {said} {sup} {many}", "np2"), ("question", f"Which are the {said} {sup} {many}?", "which"),
            ("raw", f"top {said} {sup} {many}", "top"), ("question", f"What {said} {many} are the {sup}?", "what"), ("question", understood, "plain"),
            ("raw", f"{sup} {many}, {said} of them", "of them"),
        ]  # fmt: skip
    else:
        back = direction in ("later", "larger")
        other = {"larger": "smaller", "smaller": "larger", "earlier": "later", "later": "earlier"}[direction]
        sup = words["sup"][0]
        how = f"from {sup} to {attribute.directions[other]['sup'][0]}"
        hows = [
            how,
            f"{'descending' if back else 'ascending'} by {attribute.noun}",
            f"by {attribute.noun}, {sup} first",
            f"starting with the {sup}",
            f"{sup} first",
        ]
        chosen = rng.choice(hows)
        understood = f"{asks} are the {many} {'in order, ' if 'start' in chosen else ''}{chosen}?"
        ways = [
            ("order", f"Sort the {many} {chosen}.", "sort"), ("order", f"List the {many} {chosen}.", "list"), ("order", f"Order the {many} {chosen}.", "order"),
            ("order", f"Rank the {many} {chosen}.", "rank"), ("order", f"Put the {many} in order, {chosen}.", "put"), ("raw", f"{many} {chosen}", "raw"),
            ("question", f"What is the order of the {many}, {chosen}?", "what"), ("order", f"Give me the {many} {chosen}.", "give"),
        ]  # fmt: skip
    style, text, key = rng.choice(ways)
    question.pick([Core(style, text, "", understood, f"{key} {attribute.id} {sup} {relation.id}")])
    members = question.relate(0, relation)
    step = attribute_step(question, members, attribute)
    if top:
        question.operate("Top", [step], [direction, _COUNTS[said]], f"Which are the {said} {sup}?")
    else:
        question.operate("Sort", [step], [direction], f"In what order, {chosen}?")
    if members.values is not None and not members.values:
        question.answers = []
    elif step.values:
        keyed = [(order_of(value.text), value) for value in step.values]
        if any(key is None for key, _ in keyed) or len({len(key or ()) for key, _ in keyed}) > 1:
            return None
        ordered = [
            value
            for _, value in sorted(keyed, key=lambda pair: pair[0] or (), reverse=direction in ("later", "larger"))
        ]
        ordered = ordered[: int(_COUNTS[said])] if top else ordered
        question.answers = told([value.entity() for value in ordered], several=True)
    return question


_NTH = wording("sets", "nth")
_SIZES = wording("sets", "sizes")


def ordinal(pool: Pool) -> Question | None:
    """The first, second or last of a set in the order that a value gives."""
    found = set_of(pool, "ordinal", attrs=True)
    if found is None:
        return None
    question, relation, x, _ = found
    rng = pool.rng
    attribute = attributes()[rng.choice(relation.attrs)]
    one = rng.choice(relation.inside).format(x=x)
    date = attribute.type == "date"
    word = rng.choice(list(_NTH if date else _SIZES))
    direction, place = (_NTH if date else _SIZES)[word]
    plain = [one for one in attribute.directions[direction]["sup"] if not one.startswith(("first", "last"))]
    if plain and (not date or attribute.id in ("born", "died", "founded", "built") or rng.random() < 0.25):
        word = plain[0] if place == 1 else f"{['second', 'third', 'fourth'][place - 2]} {plain[0]}"
    wh = "Who" if relation.type == "person" else "What"
    understood = f"{'Who' if wh == 'Who' else 'Which'} is the {word} {one}?"
    ways = [
        ("phrase", f"the {word} {one}", "", "np"),
        ("question", f"{wh} was the {word} {one}?", f"{wh.lower()} the {word} {one} was", "was"),
        ("question", f"{wh} is the {word} {one}?", f"{wh.lower()} the {word} {one} is", "is"),
        ("question", f"Which {one} was the {word}?", "", "which"),
        ("question", f"Which {one} came {word}?" if date and word in _NTH else f"{wh}'s the {word} {one}?", "", "came"),
    ]
    style, text, clause, key = rng.choice(ways)
    question.pick([Core(style, text, clause, understood, f"{key} {word} {relation.id}")])
    members = question.relate(0, relation)
    step = attribute_step(question, members, attribute)
    if place == 1:
        question.operate("Compare", [step], [direction], f"Which is the {word}?")
    else:
        top = question.operate("Top", [step], [direction, str(place)], f"Which are the first {place}?")
        again = question.operate("Top", [step], [direction, str(place - 1)], f"Which stand before the {word}?")
        question.operate("Except", [top, again], [], f"Which is the {word}?")
        # Five steps: the members and their values stand together.
        question.plan.steps = []
        values_group = question.plan.group(
            attribute.ask.format(x=f"the {members_of(relation, name_mark(0), pool)}").replace("was the", "were the"),
            [members, step],
        )
        step_mark, group_mark = question.plan.mark(step), question.plan.mark(values_group)
        for later in (top, again):
            later.call = later.call.replace(step_mark, group_mark)
        question.plan.steps += [top, again, question.plan._all[4]]
    if members.values is not None and not members.values:
        question.answers = []
    elif step.values:
        keyed = [(order_of(value.text), value) for value in step.values]
        if (
            any(key is None for key, _ in keyed)
            or len({len(key or ()) for key, _ in keyed}) > 1
            or len({key for key, _ in keyed}) < len(keyed)
        ):
            return None
        ordered = [
            value
            for _, value in sorted(keyed, key=lambda pair: pair[0] or (), reverse=direction in ("later", "larger"))
        ]
        if len(ordered) < place:
            return None
        question.answers = told([ordered[place - 1].entity()])
    return question


_TOTALS = wording("sets", "totals")


def totalled(pool: Pool) -> Question | None:
    """The sum or average over a whole set."""
    rng = pool.rng
    name = rng.choice(("Sum", "Average"))
    found = set_of(pool, f"set_{name.lower()}", attrs=True)
    if found is None:
        return None
    question, relation, x, _ = found
    numbers = [one for one in relation.attrs if attributes()[one].type != "date"]
    if not numbers:
        return None
    attribute = attributes()[rng.choice(numbers)]
    question.type = "number" if attribute.type == "number" else "quantity"
    many = members_of(relation, x, pool)
    template = rng.choice(_TOTALS[name.lower()])
    text = template.format(n=attribute.noun, many=many)
    what = "total" if name == "Sum" else "average"
    style = "question" if text.endswith("?") else "order" if text.endswith(".") else "phrase"
    question.pick(
        [Core(style, text, "", f"What is the {what} {attribute.noun} of the {many}?", f"{template} {relation.id}")]
    )
    members = question.relate(0, relation)
    step = attribute_step(question, members, attribute)
    question.operate(name, [step], [], f"What is their {what}?")
    if members.values is not None and not members.values:
        question.answers = []
    elif step.values:
        plain = [number for one in step.values if (number := number_of(one.text)) is not None]
        result = sum(plain) / (1 if name == "Sum" else len(plain))
        shown = str(round(result)) if result >= 1000 else f"{round(result, 2):g}"
        question.answers = [f"{shown} {step.values[0].text.partition(' ')[2]}".strip(), shown]
    return question


_IS_EXTREME = wording("sets", "is_extreme")


def is_extreme(pool: Pool) -> Question | None:
    """Whether a member told is the extreme one of its set."""
    found = set_of(pool, "yes_no_extreme", attrs=True)
    if found is None:
        return None
    question, relation, x, name = found
    rng = pool.rng
    question.type = "yes/no"
    attribute = attributes()[rng.choice(relation.attrs)]
    direction, words = direction_of(pool, attribute)
    inside = name.world.get(name.key, relation.prop) if name.world is not None and name.key else []
    starter = pool.worlds["starter"].by_label
    known = [starter[one] for one in inside if one in starter]
    other = rng.choice(known) if known else pool.pick([relation.member], "table")
    if other is None or other.label == name.label or other.qualifier:
        return None
    mark = question.name(other)
    one, sup = rng.choice(relation.inside).format(x=x), rng.choice(words["sup"])
    template = rng.choice(_IS_EXTREME)
    text = template.format(v=mark, sup=sup, one=one)
    understood = f"Is {mark} the {sup} {one}?"
    clause = f"whether {mark} is the {sup} {one}" if template.startswith("Is {v}") else ""
    question.pick([Core("question", text, clause, understood, f"{template} {attribute.id} {relation.id}")])
    members = question.relate(0, relation)
    step = attribute_step(question, members, attribute)
    best = question.operate("Compare", [step], [direction], f"Which is the {sup}?")
    question.operate("Is", [best, mark], ["same"], understood)
    if step.values and members.values:
        winners = extreme(step.values, direction)
        if winners is None:
            return None
        question.answers = ["yes" if other.key in {value.entity().text for value in winners} else "no"]
    elif members.values is not None and not members.values:
        question.answers = []
    return question
