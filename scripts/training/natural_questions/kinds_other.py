"""What needs no chain: several questions at once, topics, descriptions, greetings, other languages."""

from __future__ import annotations

import re
from functools import cache
from typing import Any

from training.natural_questions.kinds_lookup import name_for, source_for
from training.natural_questions.plans import Step
from training.natural_questions.questions import Core, Question
from training.natural_questions.tables import KIND_WORDS, PERSONS, read, relations, wording
from training.natural_questions.world import Pool, forms


@cache
def _chat() -> dict[str, Any]:
    return read("chat")


_TOGETHER = wording("other", "together")
_ONE_NAME = wording("other", "one_name")


def each(pool: Pool) -> Question | None:
    """Two or three questions in one, about different names or about one."""
    rng = pool.rng
    question = Question("each", pool, type="thing", several=True)
    count = 3 if rng.random() < 0.15 else 2
    table = [one for one in relations().values() if one.id not in ("lifespan", "mass")]
    parts: list[str] = []
    groups: list[Step] = []
    types: set[str] = set()
    answers: list[str] = []
    if rng.random() < 0.5:
        # One name, several relations: "When and where was Ada Lovelace born?"
        kind = rng.choice(
            [
                *PERSONS,
                "film",
                "book",
                "country",
                "city",
                "company",
                "element",
                "music",
                "painting",
                "building",
                "mountain",
            ]
        )
        fits = [one for one in table if kind in one.heads]
        name = name_for(pool, (kind,))
        if name is None or len(fits) < count:
            return None
        chosen = rng.sample(fits, count)
        x = question.named(name)
        pronoun = {"m": "he", "f": "she"}.get(name.sex, "they" if kind in PERSONS else "it")
        if {one.id for one in chosen} >= {"born", "birthplace"} or (
            count == 2 and kind in PERSONS and rng.random() < 0.3
        ):
            relation = relations()["born"]
            chosen = [relation, relations()["birthplace"]]
            text = rng.choice(
                [
                    f"When and where was {x} born?",
                    f"Where and when was {x} born?",
                    f"the date and place of {x}'s birth",
                    f"{x}: when and where born?",
                ]
            )
            parts = [chosen[0].wh[0][0].format(x=x), chosen[1].wh[0][0].format(x=x)]
            style = "phrase" if text.startswith("the ") else "question"
            if text.startswith("Where"):
                chosen.reverse()
                parts.reverse()
            core = Core(
                style,
                text,
                "",
                f"When and where was {x} born?" if not text.startswith("Where") else text,
                f"when and where {text[:9]}",
            )
        elif all(one.nouns for one in chosen) and rng.random() < 0.45:
            nouns = [rng.choice(one.nouns) for one in chosen]
            listed = f"{', '.join(nouns[:-1])} and {nouns[-1]}"
            text = rng.choice([f"the {listed} of {x}", f"{x}'s {listed}", f"the {' and the '.join(nouns)} of {x}"])
            core = Core("phrase", text, "", f"What are the {listed} of {x}?", f"nouns {' '.join(sorted(nouns))}")
        else:
            asked = [rng.choice([way for way, _ in one.wh if "year" not in way]) for one in chosen]
            parts = [asked[0].format(x=x), *(_with_pronoun(one, pronoun) for one in asked[1:])]
            template = rng.choice(_ONE_NAME)
            text = _joined(parts, template)
            core = Core(
                "question",
                text,
                "",
                " ".join([asked[0].format(x=x), *(one.format(x=x) for one in asked[1:])]),
                f"{template} {' '.join(one.id for one in chosen)}",
            )
        question.pick([core])
        for relation in chosen:
            step = question.relate(0, relation)
            groups.append(step)
            types.add(relation.type)
    else:
        same = rng.random() < 0.35
        first = rng.choice(table)
        chosen = [first] * count if same else [first, *rng.sample(table, count - 1)]
        source = source_for(pool, first.heads)
        asked = []
        for number, relation in enumerate(chosen):
            kind = rng.choice(relation.heads) if not same or number == 0 else question.names[0].kind
            name = pool.pick([kind], source if source != "2wiki" else "table")
            if name is None or name.label in [one.label for one in question.names]:
                return None
            x = question.named(name)
            asked.append(rng.choice([one for one, _ in relation.wh if "year" not in one]).format(x=x))
            groups.append(question.relate(number, relation))
            types.add(relation.type)
        if same and first.nouns and rng.random() < 0.6:
            marks = [chr(0xE000 + i) for i in range(count)]
            if any(question.told):
                return None
            listed = f"{', '.join(marks[:-1])} and {marks[-1]}"
            wh = first.wh[0][0].format(x=listed)
            text = rng.choice(
                [
                    f"the {first.nouns[0]} of {listed}",
                    f"the {first.nouns[0]}s of {listed}",
                    wh.replace(" was ", " were ").replace(" is ", " are ").replace(" does ", " do "),
                    f"the {first.nouns[0]} of {' and of '.join(marks)}",
                ]
            )
            style = "phrase" if text.startswith("the ") else "question"
            if style == "phrase":
                asks = "Who" if first.type == "person" else "What"
                asked = [f"{asks} is the {first.nouns[0]} of {mark}?" for mark in marks]
            else:
                asked = [first.wh[0][0].format(x=mark) for mark in marks]
            core = Core(style, text, "", " ".join(asked), f"{first.id} of several {text[:7]}")
        else:
            template = rng.choice(_TOGETHER)
            core = Core(
                "question",
                _joined(asked, template),
                "",
                " ".join(asked),
                f"{template} {' '.join(one.id for one in chosen)}",
            )
        question.pick([core])
    if len(types) == 1:
        question.type = types.pop()
    if len(core.text) > 200:
        return None
    question.operate("Each", list(groups), [], "What is the answer to each?")
    if question.world is not None and all(step.values is not None for step in groups):
        for step in groups:
            answers += [forms(value.text)[0] for value in step.values or []]
        question.answers = answers if all(step.values for step in groups) else []
    return question


def _with_pronoun(asked: str, pronoun: str) -> str:
    owner = {"he": "his", "she": "her", "they": "their", "it": "its"}[pronoun]
    him = {"he": "him", "she": "her", "they": "them", "it": "it"}[pronoun]
    text = re.sub(r"\bthe ((?:\w+ ){0,2}\w+) of \{x\}", rf"{owner} \1", asked.replace("{x}'s", owner))
    for verb in ("was", "is", "did", "does", "has", "do"):
        text = text.replace(f"{verb} {{x}}", f"{verb} {pronoun}")
    text = text.replace("of {x}", f"of {him}").replace("{x}", him)
    if pronoun == "they":
        text = text.replace("was they", "were they").replace("is they", "are they").replace("does they", "do they")
    return text[:1].upper() + text[1:]


def _joined(parts: list[str], template: str) -> str:
    text = parts[0]
    for part in parts[1:]:
        bare = text.rstrip("?")
        small = part[:1].lower() + part[1:]
        text = template.format(a=text, b=small, B=part, c=bare, d=text[:1].lower() + text[1:])
    return text


_TOPICS = wording("other", "topics")


def summary(pool: Pool) -> Question | None:
    """A bare topic, or "tell me about"."""
    rng = pool.rng
    kind = rng.choice([kind for kind in KIND_WORDS if kind not in ("continent", "state", "award", "job", "play")])
    name = name_for(pool, (kind,))
    if name is None:
        return None
    question = Question("summary", pool, type="summary")
    bare = rng.random() < 0.5
    x = question.named(name, 0.12)
    template = rng.choice(_TOPICS if bare else _chat()["summary"])
    question.pick(
        [
            Core(
                "raw",
                template.format(x=x),
                "",
                f"Tell me about {x}.",
                f"{template} {kind if bare else ''}",
            )
        ]
    )
    return question


def phrase(pool: Pool) -> Question | None:
    """Why, how, what it is known for: a description out of the evidence."""
    rng = pool.rng
    kinds = _chat()["phrases"]
    kind = rng.choice([*kinds, "person", "person", "person", "book", "country", "event"])
    heads = list(PERSONS) if kind == "person" else [kind, "play"] if kind == "book" else [kind]
    name = name_for(pool, tuple(heads))
    if name is None:
        return None
    question = Question("phrase", pool, type="phrase")
    x = question.named(name, 0.05)
    asked = rng.choice(kinds[kind])
    text = asked.format(x=x)
    clause = ""
    for verb in ("is", "was", "are"):
        if asked.startswith((f"What {verb} {{x}}", f"Why {verb} {{x}}")):
            first = asked.split(" ", 1)[0].lower()
            clause = f"{first} {x} {verb}{asked.split('{x}', 1)[1].rstrip('?')}"
    if clause.count("'s"):
        clause = ""
    question.pick([Core("question", text, clause, text, asked)])
    return question


def nothing(pool: Pool) -> Question:
    """A greeting, or letters without sense."""
    rng = pool.rng
    text = rng.choice(_chat()["nothing"].split("|"))
    chance = rng.random()
    if chance < 0.25:
        length = rng.randrange(3, 14)
        letters = rng.choice(
            ("asdfghjkl", "qwertyuiop", "zxcvbnm", "abcdefghijklmnopqrstuvwxyz", "bcdfghjklmnpqrstvwxz")
        )
        text = "".join(rng.choice(letters) for _ in range(length))
        if rng.random() < 0.4:
            text += " " + "".join(rng.choice(letters) for _ in range(rng.randrange(2, 9)))
    elif chance < 0.32:
        text = "".join(rng.choice("0123456789.,-+*/ ?!#") for _ in range(rng.randrange(2, 10))).strip() or "?"
    elif chance < 0.6:
        text = rng.choice(
            (
                text,
                text.upper(),
                text.capitalize(),
                text + "!",
                text + "...",
                text.lower(),
                text + " " + rng.choice(("please", "friend", "everyone", "assistant", "my dear", "there")),
            )
        )
    question = Question("nothing", pool, type="nothing", literal=True)
    shown = " ".join(text.replace("=", " ").split()) or "?"
    question.pick([Core("raw", shown, "", shown, f"nothing {shown}")])
    return question


def language(pool: Pool) -> Question:
    """A question in another language than English."""
    rng = pool.rng
    which = rng.choice(
        (
            "de",
            "de",
            "fr",
            "fr",
            "es",
            "es",
            "it",
            "pt",
            "nl",
            "pl",
            "ru",
            "tr",
            "zh",
            "ja",
            "ar",
            "others",
            "others",
            "others",
        )
    )
    text = rng.choice(_chat()[which].split("|"))
    if which not in ("zh", "ja", "ar") and rng.random() < 0.3:
        text = rng.choice((text.lower(), text.rstrip("?. "), text.lower().rstrip("?. ")))
    if which in _FRAMES and rng.random() < 0.55:
        kind, frame = rng.choice(_FRAMES[which])
        name = pool.pick([kind], "table")
        if name is not None:
            text = frame.format(x=name.bare)
            if rng.random() < 0.3:
                text = text.lower().rstrip("?. ")
    question = Question("language", pool, type="language", literal=True)
    question.pick([Core("raw", text, "", text, f"language {text}")])
    return question


_FRAMES = wording("other", "frames")
