"""Members of sets: by a condition, by a year, by words; counts, unions, membership."""

from __future__ import annotations

import re

from training.natural_questions.kinds_lookup import name_for, source_for
from training.natural_questions.kinds_sets import attribute_step, direction_of, members_of, set_of
from training.natural_questions.plans import Value, name_mark
from training.natural_questions.questions import Core, Question, noun_phrase, told
from training.natural_questions.tables import Relation, attributes, relations, sets, wording
from training.natural_questions.world import Pool, number_of, year_of


def limit_number(text: str) -> float | None:
    """The number of a limit as people write it: "6 million people", "half a million km2", "14,000 feet"."""
    words = {"half": 0.5, "one": 1, "two": 2, "an": 1, "a": 1, "five": 5, "six": 6}
    scale = {"million": 1e6, "thousand": 1e3, "hundred": 100}
    plain = text.lower().replace(",", "")
    match = re.match(r"(half a|\d+(?:\.\d+)?|[a-z]+)(?: (million|thousand|hundred))?", plain)
    if match is None:
        return None
    first = match[1].replace("half a", "half")
    number = words[first] if first in words else float(first) if first[0].isdigit() else None
    return None if number is None else number * scale.get(match[2] or "", 1)


def chosen(pool: Pool, *, count: bool = False) -> Question | None:
    """The members of a set whose value satisfies a condition; with `count`, how many."""
    found = set_of(pool, "count_if" if count else "select", attrs=True)
    if found is None:
        return None
    question, relation, x, _ = found
    question.several = not count
    rng = pool.rng
    attribute = attributes()[rng.choice(relation.attrs)]
    direction, words = direction_of(pool, attribute)
    value = rng.choice(attribute.values)
    if attribute.type == "date" and rng.random() < 0.6:
        value = (
            str(rng.randrange(1500, 2020))
            if rng.random() < 0.5
            else f"the {rng.randrange(160, 202)}0s"
            if rng.random() < 0.3
            else str(rng.randrange(150, 202) * 10)
        )
    condition = rng.choice(words["cond"]).format(v=value)
    many = members_of(relation, x, pool)
    bare = many
    are = (
        "were"
        if attribute.type == "date" and condition.split()[0] not in ("older", "from", "since", "known")
        else "are"
    )
    if count:
        ways = [
            ("question", f"How many {bare} {are} {condition}?" if not condition.startswith(("that", "who", "with", "from")) else f"How many {bare} {condition} are there?", "how many"),
            ("question", f"How many of the {bare} {are} {condition}?" if not condition.startswith(("that", "who", "with", "since")) else f"How many {bare} {condition} exist?", "how many of"),
            ("order", f"Count the {bare} {condition}.", "count"), ("phrase", f"the number of {bare} {condition}", "number of"), ("raw", f"number of {bare} {condition}", "raw number"),
        ]  # fmt: skip
        understood = f"How many {bare} {condition} are there?"
    else:
        ways = [
            ("list", f"the {bare} {condition}", "list"), ("list", f"the {bare} {condition}", "list"), ("raw", f"{bare} {condition}", "raw"),
            ("question", f"Which {bare} {are} {condition}?" if not condition.startswith(("that", "who", "with", "since")) else f"Which {bare} are there {condition}?", "which are"),
            ("question", f"Which of the {bare} {are} {condition}?" if not condition.startswith(("that", "who", "with", "since")) else f"What {bare} {condition} do you know?", "which of"),
            ("question", f"Are there any {bare} {condition}, and which?", "any"),
        ]  # fmt: skip
        understood = (
            f"Which {bare} {are} {condition}?"
            if not condition.startswith(("that", "who", "with", "since"))
            else f"Which are the {bare} {condition}?"
        )
    style, text, key = rng.choice(ways)
    question.pick([Core(style, text, "", understood, f"{key} {attribute.id} {condition.split(' ')[0]} {relation.id}")])
    members = question.relate(0, relation)
    step = attribute_step(question, members, attribute)
    plain = re.sub(r"^(.*\d(?:,\d{3})*(?: million| thousand)?) (?:people|inhabitants|speakers)$", r"\1", value)
    picked = question.operate(
        "Select",
        [step, plain],
        [direction],
        f"Which of them {are} {condition}?"
        if not condition.startswith(("that", "who", "with", "since"))
        else f"Which of them are those {condition}?",
    )
    if members.values is not None and not members.values:
        question.answers = []
    elif step.values:
        bound = year_of(value) if attribute.type == "date" else limit_number(value)
        if (
            bound is None
            or not re.search(r"\d", value)
            or value.endswith("0s")
            or (
                re.search(r"feet|miles|day|week|hour|minute|km$", value)
                and attribute.type != "date"
                and attribute.id != "length"
            )
        ):
            picked.values = None
        else:
            chosen_values = []
            for one in step.values:
                number = year_of(one.text) if attribute.type == "date" else number_of(one.text)
                if number is None or number == bound:
                    return None
                if (number < bound) == (direction in ("earlier", "smaller")):
                    chosen_values.append(one.entity())
            picked.values = chosen_values
            if not chosen_values and not count:
                return None
            question.answers = told(chosen_values, several=True)
    if count:
        question.type = "number"
        question.operate("Count", [picked], [], "How many are they?")
        if picked.values is not None and question.answers is not None:
            question.answers = [str(len(picked.values))]
    return question


_DATED = wording("sets", "dated")


def dated(pool: Pool) -> Question | None:
    """The members of a set of one year, decade or century: the year is compared, and never searched for."""
    rng = pool.rng
    ident = rng.choice(list(_DATED))
    relation = sets()[ident]
    name = name_for(pool, relation.heads)
    if name is None:
        return None
    question = Question("select", pool, type=relation.type, several=True)
    x = question.named(name)
    attribute = attributes()[relation.attrs[-1 if ident in ("elements", "moons") else 0]]
    known = []
    if name.world is not None and name.key:
        for one in name.world.get(name.key, relation.prop):
            known += [year for text in name.world.get(one, attribute.prop) if (year := year_of(text)) is not None]
    year = rng.choice(known) if known else rng.randrange(1780, 2015)
    said, low, high = rng.choice(
        [
            (str(year), year, year),
            (str(year), year, year),
            (f"the {year // 10 * 10}s", year // 10 * 10, year // 10 * 10 + 9),
        ]
    )
    template = rng.choice(_DATED[ident])
    text = template.format(x=x, v=said)
    style = "question" if text.endswith("?") else "order" if text.endswith(".") else "list"
    many = f"{relation.many} of {x}"
    verb = {"born": "born", "died": "died"}.get(attribute.id, "from")
    understood = (
        text if style == "question" else f"Which {many} {'were born in' if verb == 'born' else 'are from'} {said}?"
    )
    question.pick([Core(style, f"the {text}" if style == "list" else text, "", understood, f"{template} {len(said)}")])
    members = question.relate(0, relation)
    step = attribute_step(question, members, attribute)
    last = f"Which of them were born in {said}?" if verb == "born" else f"Which of them are {verb} {said}?"
    question.operate("Select", [step, said], ["same"], last)
    if members.values is not None and not members.values:
        question.answers = []
    elif step.values:
        found = [value.entity() for value in step.values if low <= (year_of(value.text) or 0) <= high]
        question.answers = told(found, several=True) if found else None
    return question


def filtered(pool: Pool, *, count: bool = False) -> Question | None:
    """The members of a set that a condition in words holds for."""
    found = set_of(pool, "count_if" if count else "filter", texts=True)
    if found is None:
        return None
    question, relation, x, _ = found
    question.several = not count
    rng = pool.rng
    said, _, condition = rng.choice(relation.texts).partition("|")
    many = members_of(relation, x, pool)
    relative = re.sub(r"^are still", "who are still", said) if relation.type == "person" else said
    clause = (
        f"{'who' if relation.type == 'person' else 'that'} {relative}" if not relative.startswith("who") else relative
    )
    if count:
        ways = [
            ("question", f"How many {many} {said}?", "how many"),
            ("question", f"How many of the {many} {said}?", "how many of"),
            ("order", f"Count the {many} {clause}.", "count"),
            ("phrase", f"the number of {many} {clause}", "number"),
        ]
        understood = f"How many {many} {said}?"
    else:
        ways = [
            ("question", f"Which {many} {said}?", "which"),
            ("question", f"Which of the {many} {said}?", "which of"),
            ("list", f"the {many} {clause}", "list"),
            ("raw", f"{many} {clause}", "raw"),
            ("question", f"What {many} {said}?", "what"),
        ]
        understood = f"Which {many} {said}?"
    style, text, key = rng.choice(ways)
    question.pick([Core(style, text, "", understood, f"{key} {said} {relation.id}")])
    members = question.relate(0, relation)
    picked = question.plan.add(
        f"Which of {question.plan.mark(members)} {said}?", f'Filter({question.plan.mark(members)}, "{condition}")', None
    )
    if count:
        question.type = "number"
        question.operate("Count", [picked], [], "How many are they?")
    if members.values is not None and not members.values:
        question.answers = []
    return question


def counted(pool: Pool) -> Question | None:
    """How many members a set has."""
    found = set_of(pool, "count")
    if found is None:
        return None
    question, relation, x, _ = found
    rng = pool.rng
    many = members_of(relation, x, pool)
    first = relation.wh[0][0]
    ways = [
        ("question", f"How many {many} are there?", f"how many {many} there are", "there"),
        ("phrase", f"the number of {many}", "", "number"),
        ("raw", f"how many {many}", "", "raw"),
        ("order", f"Count the {many}.", "", "count"),
        ("question", f"What is the number of {many}?", f"what the number of {many} is", "what"),
    ]
    asked = re.match(r"(?:Which|What) (.*)", first)
    if asked and len(asked[1].split()) > 2 and not asked[1].startswith(("are", "is", "did", "were")):
        text = f"How many {asked[1]}".format(x=x)
        ways += [
            (
                "question",
                text,
                text[0].lower() + text[1:-1]
                if " did " not in text and " does " not in text and " do " not in text
                else "",
                "wh",
            )
        ] * 2
    style, text, clause, key = rng.choice(ways)
    question.pick(
        [Core(style, text, clause, f"How many {many} are there?" if key != "wh" else text, f"{key} {relation.id}")]
    )
    question.type = "number"
    members = question.relate(0, relation)
    question.operate("Count", [members], [], "How many are they?")
    if members.values is not None:
        question.answers = [str(len({value.text for value in members.values}))] if members.values else []
    return question


_BOTH_WAYS = wording("sets", "both_ways")


def joined(pool: Pool) -> Question | None:
    """Members of both sets, of either, or of the first alone."""
    rng = pool.rng
    relation = sets()[rng.choice(list(_BOTH_WAYS))]
    operation = rng.choice(("Intersect", "Intersect", "Union", "Except"))
    template = rng.choice(_BOTH_WAYS[relation.id][operation])
    kind = rng.choice(relation.heads)
    if relation.id == "rivercountries" and kind != "river" and "flow" in template:
        kind = "river"
    found = pool.several(kind, 2, source_for(pool, (kind,)))
    if len(found) < 2:
        return None
    question = Question(operation.lower(), pool, type=relation.type, several=True)
    a, b = (question.named(name) for name in found)
    text = template.format(a=a, b=b)
    style = "order" if text.endswith(".") else "question" if text.endswith("?") else "list"
    noun = relation.many
    understood = text if text.endswith("?") else {
        "Intersect": f"Which {noun} do {a} and {b} have in common?", "Union": f"What are the {noun} of {a} or {b}?",
        "Except": f"Which {noun} does {a} have and {b} not?",
    }[operation]  # fmt: skip
    if style == "list":
        text = f"the {text}"
    question.pick([Core(style, text, "", understood, template)])
    first, second = question.relate(0, relation), question.relate(1, relation)
    last = {
        "Intersect": "Which are in both?",
        "Union": "Which are in either?",
        "Except": "Which are in the first and not in the second?",
    }[operation]
    question.operate(operation, [first, second], [], last)
    if first.values is not None and second.values is not None:
        one, other = ([value.text for value in step.values or []] for step in (first, second))
        result = {
            "Intersect": [v for v in one if v in other],
            "Union": [*one, *other],
            "Except": [v for v in one if v not in other],
        }[operation]
        question.answers = told([Value(text) for text in result], several=True) if one and other else []
        if one and other and not result:
            return None
    return question


_IN_SET = wording("sets", "in_set")


def member(pool: Pool) -> Question | None:
    """Whether a name, or what a hop leads to, is a member of a set."""
    rng = pool.rng
    found = set_of(pool, "membership")
    if found is None:
        return None
    question, relation, x, name = found
    question.type = "yes/no"
    many = members_of(relation, x, pool)
    kind = relation.member
    fits = [one for one in relations().values() if _gives(one) == kind and one.nouns]
    hop = rng.choice(fits) if fits and rng.random() < 0.45 else None
    if hop is not None:
        other = name_for(pool, hop.heads)
    else:
        inside = name.world.get(name.key, relation.prop) if name.world and name.key else []
        known = [pool.worlds["starter"].by_label[one] for one in inside if one in pool.worlds["starter"].by_label]
        other = (
            rng.choice(known) if known and rng.random() < 0.5 else pool.pick([kind], "starter" if name.key else "table")
        )
    if other is None or other.label == name.label:
        return None
    mark = question.named(other)
    subject = noun_phrase(hop, mark, rng) if hop is not None else mark
    template = rng.choice(_IN_SET[:4] if hop else _IN_SET)
    text = template.format(x=subject, many=many)
    question.pick(
        [
            Core(
                "question",
                text,
                f"whether {subject} is one of the {many}" if template.startswith("Is ") else "",
                text,
                f"{template} {relation.id} {hop.id if hop else ''}",
            )
        ]
    )
    if hop is not None:
        first = question.relate(1, hop)
        second = question.relate(0, relation)
        question.operate("Is", [first, second], ["among"], text)
        inner = first.values
    else:
        second = question.relate(0, relation)
        question.operate("Is", [second, name_mark(1)], ["same"], text)
        inner = [Value(other.key)] if question.world is not None else None
    if inner is not None and second.values is not None:
        options = {value.text for value in second.values}
        question.answers = (
            [] if not inner or not options else ["yes" if {value.text for value in inner} & options else "no"]
        )
    return question


def _gives(relation: Relation) -> str:
    return {
        "capital": "city", "incountry": "country", "origin": "country", "citizenship": "country", "parentbody": "planet", "cityriver": "river",
        "collection": "museum", "educated": "university", "highest": "mountain", "basedon": "book",
    }.get(relation.id, "")  # fmt: skip
