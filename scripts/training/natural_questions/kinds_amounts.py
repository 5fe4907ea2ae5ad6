"""Amounts computed from two or three values: differences of dates and numbers, ratios, sums, averages, ages."""

from __future__ import annotations

from training.natural_questions.kinds_compare import joined_values, of_kind
from training.natural_questions.kinds_lookup import name_for
from training.natural_questions.plans import Step, name_mark
from training.natural_questions.questions import Core, Question, noun_phrase
from training.natural_questions.tables import attributes, relations, wording
from training.natural_questions.world import Pool, number_of, order_of, year_of

_DATE_WAYS = wording("compare", "date_ways")
_EVENTS = wording("compare", "events")


def difference_of_dates(pool: Pool) -> Question | None:
    """Years, months or days between two dates."""
    rng = pool.rng
    attribute = attributes()[rng.choice(list(_EVENTS))]
    found = of_kind(pool, attribute, 2)
    if not found:
        return None
    unit = rng.choice(("years", "years", "years", "years", "days", "months"))
    question = Question("difference_of_dates", pool, type="quantity" if unit != "years" else "number")
    a, b = (question.named(name) for name in found)
    if rng.random() < 0.45 and unit == "years":
        text = attribute.much.format(a=a, b=b)
        template = attribute.much
    else:
        template = rng.choice(_DATE_WAYS)
        text = template.format(u=unit, A=_EVENTS[attribute.id].format(x=a), B=_EVENTS[attribute.id].format(x=b))
    style = "order" if text.endswith(".") else "question"
    plain = "apart" not in text and not text.endswith(".")
    question.pick(
        [
            Core(
                style,
                text,
                "",
                text
                if plain
                else f"How many {unit} lie between {_EVENTS[attribute.id].format(x=a)} and {_EVENTS[attribute.id].format(x=b)}?",
                f"{attribute.id} {template}",
            )
        ]
    )
    first = question.ask(0, attribute.rel, attribute.prop, attribute.ask)
    second = question.ask(1, attribute.rel, attribute.prop, attribute.ask)
    question.operate("Difference", [second, first], [unit], f"How many {unit} lie between them?")
    if first.values is not None and second.values is not None:
        question.answers = []
        if first.values and second.values:
            one, other = year_of(first.values[0].text), year_of(second.values[0].text)
            if one is None or other is None or unit != "years":
                question.answers = None
            elif len(first.values[0].text) > 4 and len(second.values[0].text) > 4:
                low, high = sorted((order_of(first.values[0].text) or (), order_of(second.values[0].text) or ()))
                question.answers = [str(int(high[0] - low[0] - (high[1:] < low[1:])))]
            else:
                question.answers = [str(abs(one - other))]
    return question


_NUMBER_WAYS = wording("compare", "number_ways")


def arithmetic(pool: Pool, name: str) -> Question | None:
    """Difference, ratio, sum or average of two numbers, or of three."""
    rng = pool.rng
    attribute = rng.choice([one for one in attributes().values() if one.type != "date"])
    count = 3 if name in ("Sum", "Average") and rng.random() < 0.35 else 2
    found = of_kind(pool, attribute, count)
    if not found:
        return None
    question = Question(
        name.lower(), pool, type="number" if name == "Ratio" or attribute.type == "number" else "quantity"
    )
    marks = [question.named(one) for one in found]
    template = attribute.much if name == "Difference" and rng.random() < 0.6 else rng.choice(_NUMBER_WAYS[name])
    second = marks[1] if count == 2 else f"{marks[1]} and {marks[2]}"
    text = template.format(
        n=attribute.noun, a=f"{marks[0]}{',' if count == 3 else ''}".rstrip(",") + ("," if count == 3 else ""), b=second
    )
    if count == 3:
        text = text.replace(", and ", ", ", 1)
    asked = text
    if text.endswith("."):
        what = {"Sum": "combined", "Average": "average"}[name]
        asked = f"What is the {what} {attribute.noun} of {', '.join(marks[:-1])} and {marks[-1]}?"
    question.pick([Core("order" if text.endswith(".") else "question", text, "", asked, f"{attribute.id} {template}")])
    steps = [question.ask(i, attribute.rel, attribute.prop, attribute.ask) for i in range(count)]
    last = {
        "Difference": "What is the difference?",
        "Ratio": "What is the ratio?",
        "Sum": "What do they come to together?",
        "Average": "What is their average?",
    }[name]
    question.operate(name, list(steps), [], last)
    values = joined_values(steps)
    if values is not None:
        numbers = [number_of(value.text) for value in values]
        if values and None not in numbers and len(numbers) == count:
            plain = [one for one in numbers if one is not None]
            result = {
                "Difference": abs(plain[0] - plain[1]),
                "Ratio": plain[0] / plain[1] if plain[1] else 0.0,
                "Sum": sum(plain),
                "Average": sum(plain) / count,
            }[name]
            unit = values[0].text.partition(" ")[2] if name != "Ratio" else ""
            if len({value.text.partition(" ")[2] for value in values}) > 1:
                return None
            shown = f"{round(result, 2):g}" if result < 1e6 else str(round(result))
            question.answers = [f"{shown} {unit}".strip()]
        elif not values:
            question.answers = []
    return question


_AGES = wording("compare", "ages")
_AGE_AT = wording("compare", "age_at")
_AGE_EVENTS = wording("compare", "age_events")


def age(pool: Pool) -> Question | None:
    """An age at death, or at an event of somebody's work."""
    rng = pool.rng
    if rng.random() < 0.5:
        name = name_for(pool, attributes()["died"].heads)
        if name is None:
            return None
        question = Question("age", pool, type="number")
        x = question.name(name)
        template = rng.choice(_AGES)
        text = template.format(x=x)
        clause = {
            "How old was {x} at death?": f"how old {x} was at death",
            "At what age did {x} die?": f"at what age {x} died",
            "How old did {x} get?": f"how old {x} got",
            "How many years did {x} live?": f"how many years {x} lived",
        }.get(template, "")
        question.pick([Core("question", text, clause, text, template)])
        born = question.ask(0, "date of birth", "date of birth", "When was {x} born?")
        died = question.ask(0, "date of death", "date of death", "When did {x} die?")
        question.operate("Difference", [died, born], ["years"], f"How old did {x} get?")
    else:
        ident, attr, kind, event = rng.choice(_AGE_EVENTS)
        relation, attribute = relations()[ident], attributes()[attr]
        name = name_for(pool, (kind,))
        if name is None:
            return None
        question = Question("age", pool, type="number")
        x = question.named(name)
        person = (
            noun_phrase(relation, "it" if rng.random() < 0 else x, rng)
            if rng.random() < 0.3
            else f"its {relation.nouns[0]}"
        )
        template = rng.choice(_AGE_AT[:1] + _AGE_AT[2:])
        said = event.format(x=x) if person.startswith("its") else event.format(x="it")
        if person.startswith("its") and template != "When {e}, how old was {p}?":
            person, said = f"the {relation.nouns[0]} of {x}", event.format(x="it")
        text = template.format(p=person, e=said)
        question.pick(
            [
                Core(
                    "question",
                    text,
                    "",
                    f"How old was the {relation.nouns[0]} of {x} when {event.format(x='it')}?",
                    f"{template} {event}",
                )
            ]
        )
        below: list[Step] = []
        first = question.relate(0, relation, among=below)
        born = question.ask(first, "date of birth", "date of birth", "When was {x} born?", among=below)
        group = question.plan.group(f"When was the {relation.nouns[0]} of {name_mark(0)} born?", below)
        died = question.ask(0, attribute.rel, attribute.prop, attribute.ask)
        question.operate("Difference", [died, group], ["years"], f"How old was the {relation.nouns[0]}?")
    if born.values is not None and died.values is not None:
        question.answers = []
        if born.values and died.values:
            one, other = order_of(born.values[0].text), order_of(died.values[0].text)
            if not one or not other or len(born.values) > 1:
                return None
            if len(one) == len(other) == 3:
                question.answers = [str(int(other[0] - one[0] - (other[1:] < one[1:])))]
            else:
                gap = int((year_of(died.values[0].text) or 0) - (year_of(born.values[0].text) or 0))
                question.answers = [str(gap), str(gap - 1)]
    return question
