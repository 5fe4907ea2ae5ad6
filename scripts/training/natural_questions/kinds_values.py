"""Parts of dates, and quantities in the unit asked for."""

from __future__ import annotations

from atomr_local.language.literals import MONTHS
from training.natural_questions.kinds_lookup import name_for
from training.natural_questions.plans import Step
from training.natural_questions.questions import Core, Question, noun_phrase
from training.natural_questions.tables import attributes, relations, wording
from training.natural_questions.world import Pool, number_of, order_of, year_of

_PARTS = wording("sets", "parts")
_HAPPENED = wording("sets", "happened")


def date_part(pool: Pool) -> Question | None:
    """Year, decade, century or month of a date; of a name, or of what a hop leads to."""
    rng = pool.rng
    ident = rng.choice(list(_HAPPENED))
    attribute = attributes()[ident]
    parts = ["decade", "decade", "century", "century", "year"] + (["month", "day"] if ident in ("born", "died") else [])
    part = rng.choice(parts)
    hop = (
        rng.choice([one for one in relations().values() if one.type == "person" and one.nouns])
        if ident in ("born", "died") and rng.random() < 0.35
        else None
    )
    heads = hop.heads if hop else attribute.heads
    name = name_for(pool, heads)
    if name is None:
        return None
    question = Question("date_part", pool, type="year" if part == "year" else "date")
    x = question.named(name)
    subject = noun_phrase(hop, x, rng) if hop else x
    did, plain = (way.format(x=subject) for way in _HAPPENED[ident])
    template = rng.choice(_PARTS[part])
    text = template.format(did=did, plain=plain)
    if template.startswith("The "):
        text = text.rstrip("?")
        text = text[0].lower() + text[1:]
    before = "On" if part == "day" else "In"
    understood = f"{before} which {part if part != 'day' else 'day of the month'} {did}?"
    clause = f"{before.lower()} which {part} {plain}" if template.startswith(before + " which " + part) else ""
    question.pick(
        [Core("phrase" if template.startswith("The ") else "question", text, clause, understood, f"{template} {ident}")]
    )
    head: int | Step = question.relate(0, hop) if hop else 0
    step = question.ask(head, attribute.rel, attribute.prop, attribute.ask)
    question.operate("Part", [step], [part], f"Which {part} is that?")
    if step.values is not None:
        question.answers = []
        if step.values:
            if len(step.values) > 1:
                return None
            order = order_of(step.values[0].text)
            year = year_of(step.values[0].text)
            if order is None or year is None or (part in ("month", "day") and len(order) < 3):
                return None
            century = (year - 1) // 100 + 1
            suffix = {1: "st", 2: "nd", 3: "rd"}.get(century % 10 if century not in (11, 12, 13) else 0, "th")
            question.answers = {
                "year": lambda: [str(year)], "decade": lambda: [f"{year // 10 * 10}s", f"the {year // 10 * 10}s"], "century": lambda: [f"{century}{suffix} century", str(century)],
                "month": lambda: [MONTHS[int(order[1]) - 1]], "day": lambda: [str(int(order[2]))],
            }[part]()  # fmt: skip
    return question


_IN_UNITS = wording("sets", "in_units")
_SHORT_UNITS = {
    "feet": ["feet", "ft"],
    "kilometres": ["km", "kilometers", "kilometres"],
    "metres": ["metres", "meters", "m"],
    "miles": ["miles"],
    "square miles": ["square miles", "sq miles"],
}


def converted(pool: Pool) -> Question | None:
    """A quantity in the unit asked for."""
    rng = pool.rng
    attribute = rng.choice([one for one in attributes().values() if one.unit])
    name = name_for(pool, attribute.heads)
    if name is None:
        return None
    unit = rng.choice(attribute.unit)
    written = rng.choice(_SHORT_UNITS.get(unit, [unit]))
    question = Question("convert", pool, type="quantity")
    x = question.named(name)
    template = rng.choice(_IN_UNITS)
    asked = attribute.ask.format(x=x).rstrip("?")
    text = template.format(Q=asked, q=asked[0].lower() + asked[1:], n=attribute.noun, x=x, u=written)
    style = "order" if text.endswith(".") else "phrase" if text[0].islower() or text[0] == x[0] else "question"
    understood = f"What is the {attribute.noun} of {x} in {unit}?"
    question.pick([Core(style, text, "", understood, f"{template} {attribute.id}")])
    step = question.ask(0, attribute.rel, attribute.prop, attribute.ask)
    question.operate("Convert", [step], [unit], f"How much is that in {unit}?")
    if step.values is not None:
        question.answers = []
        if step.values:
            factor = {
                ("m", "feet"): 3.28084,
                ("m", "kilometres"): 0.001,
                ("m", "metres"): 1,
                ("km", "miles"): 0.621371,
                ("km", "metres"): 1000,
                ("km", "kilometres"): 1,
                ("km²", "square miles"): 0.386102,
                ("km²", "hectares"): 100,
                ("km²", "square metres"): 1e6,
                ("d", "hours"): 24,
                ("d", "years"): 1 / 365.25,
                ("d", "days"): 1,
            }
            number, written_unit = number_of(step.values[0].text), step.values[0].text.partition(" ")[2]
            if number is None or (written_unit, unit) not in factor:
                return None
            result = number * factor[written_unit, unit]
            shown = str(round(result)) if abs(result) >= 100 else f"{result:.3g}"
            question.answers = [f"{shown} {unit}", shown]
    return question
