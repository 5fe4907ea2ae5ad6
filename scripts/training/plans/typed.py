"""Plans of earlier question sets, written with line 0 and typed operations: what an adapter learns to write today.

The question sets that we train on have plans whose last step draws earlier answers together in words ("Given [1] and
[2], who was born first, A or B?"). Here such a step becomes a typed operation where its wording and the steps before
it settle which, and nothing otherwise. What kind of answer a question expects is told by its question words, the noun
behind them, the relation asked for last, or the form of the gold answer. These rules read questions of known sets while
training data is made; the program itself does not use them.
"""

from __future__ import annotations

import random
import re
from collections.abc import Callable, Sequence

from atomr_local.language.literals import DAY_AND_MONTH

_TYPES_OF_NOUNS = {
    "person": (
        "person man woman actor actress director author writer singer composer president king queen "
        "king's leader player scientist artist painter poet novelist musician politician monarch "
        "emperor pope saint founder inventor designer architect producer screenwriter character "
        "husband wife father mother son daughter brother sister child children spouse parent "
        "footballer coach manager philosopher explorer engineer prime-minister guitarist drummer "
        "journalist"
    ),
    "place": (
        "country city town village state county continent region province island river lake mountain "
        "place capital district borough nation location area birthplace hometown street neighborhood "
        "neighbourhood planet moon ocean sea municipality territory parish suburb stadium building "
        "castle church cathedral airport station park"
    ),
    "organisation": (
        "company band group team club university college school organisation organization party label "
        "studio agency newspaper magazine publisher airline army church institution museum league "
        "orchestra broadcaster network corporation firm manufacturer bank"
    ),
    "work": (
        "film movie book novel song album play opera painting series show game poem single musical "
        "soundtrack documentary track story episode symphony ballet comic anime manga sitcom"
    ),
    "event": ("war battle event festival tournament championship election olympics game competition treaty revolution"),
    "number": "number population amount count capacity",
    "quantity": (
        "height length area distance depth age weight speed temperature elevation size altitude width mass diameter"
    ),
    "year": "year",
    "date": "date day birthday",
    "thing": (
        "language occupation profession award instrument genre religion sport prize nationality name "
        "title position medal disease species element currency degree color colour type kind "
        "profession"
    ),
}
_NOUNS = {noun: sort for sort, nouns in _TYPES_OF_NOUNS.items() for noun in nouns.split()}
_TYPES_OF_RELATIONS = {
    "person": (
        "father mother spouse sibling child director author composer performer screenwriter producer "
        "founder creator inventor architect designer editor cast-member head-of-government "
        "head-of-state husband wife"
    ),
    "date": "date-of-birth date-of-death publication-date inception release-date founding-date",
    "place": (
        "place-of-birth place-of-death country country-of-citizenship country-of-origin "
        "place-of-burial capital headquarters-location location residence continent nationality"
    ),
    "organisation": ("educated-at employer record-label publisher production-company member-of manufacturer developer"),
}
_RELATIONS = {
    relation.replace("-", " "): sort for sort, all_ in _TYPES_OF_RELATIONS.items() for relation in all_.split()
}
_AUXILIARY = re.compile(r"^(?:is|are|was|were|do|does|did|has|have|had|can|could|will|would)\b", re.I)
_QUESTION_WORDS = re.compile(
    r"\b(?P<wh>who|whom|whose|when|where|why|how (?:many|much)"
    r"|how (?:old|tall|long|high|far|deep|large|big|wide|heavy|fast)|how|which|what)\b(?P<behind>(?:\W+[\w'’-]+){0,5})",
    re.I,
)
_DATE = re.compile(rf"{DAY_AND_MONTH} \d{{3,4}}|\d{{4}}-\d{{2}}-\d{{2}}")
_DATES_ASKED = re.compile(
    r"\b(?:dates?|years?|born|birth|died|death|released?|founded|publi(?:shed|cation)|inception|established|opened|built|started|formed"
    r"|premiered|when|settled|appeared|launched|came out|created|written|recorded|begun|began)\b",
    re.I,
)
_EARLIER = re.compile(r"\b(?:first|earlier|earliest|older|oldest|elder|before|sooner)\b", re.I)
_LATER = re.compile(
    r"\b(?:later|latest|younger|youngest|last|more recent(?:ly)?|most recent(?:ly)?|newer|newest|after)\b", re.I
)
_LARGER = re.compile(
    r"\b(?:more|most|larger|largest|higher|highest|taller|tallest|longer|longest|bigger|biggest|deeper|deepest|heavier|greater"
    r"|faster|older|oldest|farther|further)\b",
    re.I,
)
_SMALLER = re.compile(
    r"\b(?:fewer|fewest|less|least|smaller|smallest|shorter|shortest|lower|lowest|lighter|younger|nearer|closer)\b",
    re.I,
)
_STEP = re.compile(r"( *)(\d+)\. (.+?)(?: = (\w+\(.*\)))?$")
_REFERENCE = re.compile(r"\[(\d+)\]")


_KIND_WORDS = (
    "film|movie|song|album|magazine|company|band|novel|book|play|opera|ballet|painting|newspaper|planet|moon|element"
    "|river|lake|island|mountain|city|town|village|country|university|school|ship|club|team|language|poem|musical"
)
_KIND_BEFORE = re.compile(
    rf"\b(?P<dated>(?:1\d|20)\d\d (?:{_KIND_WORDS}))(?: of)?[\s:]*$|\b(?P<kind>{_KIND_WORDS})s?\b[\s:]*$", re.I
)


def told_kind(name: str, question: str) -> str:
    """What the question calls the name right before it, such as "1948 film"; "" where it does not say."""
    place = question.casefold().find(name.casefold())
    before = _KIND_BEFORE.search(question[:place].rstrip("\"\u201c '")) if place > 0 else None
    return (before["dated"] or before["kind"]).lower() if before else ""


def answer_type(question: str, relation: str = "", answer: str = "") -> tuple[str, bool]:
    """(type, whether several values are expected) of a question; `relation`: what its last look-up asks for."""
    text = question.strip()
    choice = re.search(r",? or \b", text) is not None
    if _AUXILIARY.match(text) and not (choice and answer.casefold() not in {"yes", "no"}):
        return "yes/no", False
    if answer.casefold() in {"yes", "no"}:
        return "yes/no", False
    asked = _QUESTION_WORDS.search(text)
    behind = asked["behind"].casefold() if asked else ""
    word = asked["wh"].casefold() if asked else ""
    several = False
    sort = ""
    if word in {"who", "whom", "whose"}:
        sort, several = "person", behind.lstrip().startswith(("are ", "were "))
    elif word == "when":
        sort = "date"
    elif word == "where":
        sort = "place"
    elif word.startswith(("how many", "how much")):
        sort = "number"
    elif word == "why" or word == "how":
        sort = "phrase"
    elif word.startswith("how "):
        sort = "quantity"
    elif word in {"which", "what"}:
        for noun in re.findall(r"[\w'’-]+", behind):
            single = noun.removesuffix("ies") + "y" if noun.endswith("ies") else noun.removesuffix("s")
            if noun in _NOUNS or single in _NOUNS:
                sort = _NOUNS.get(noun) or _NOUNS[single]
                several = noun not in _NOUNS and noun.endswith("s") and not choice
                break
            if noun in {"is", "are", "was", "were", "did", "do", "does", "of"}:
                break
    if word == "whose" or (word == "who" and relation in _RELATIONS and _RELATIONS[relation] != "person"):
        sort = ""
    sort = sort or _RELATIONS.get(relation, "")
    if not sort and answer:
        sort = "date" if _DATE.fullmatch(answer) else "year" if re.fullmatch(r"[12]\d{3}", answer) else ""
        sort = sort or ("number" if re.fullmatch(r"[\d,.]+", answer) else "")
    return sort or "thing", several


def operation_for(step: str, operands: Sequence[int], told: dict[int, str]) -> str | None:
    """The typed operation of a step in words over `operands`, or None.

    Args:
        told: by number, what the step asks and with which relation.
    """
    asked = re.sub(r"^Given[^,]*(?:, \[\d+\])*(?: and \[\d+\])?, ", "", step)
    references = ", ".join(f"[{number}]" for number in operands)
    if re.match(
        r"(?:Are|Is|Were|Was|Do|Did|Have|Does) \[\d+\] and \[\d+\] the same\b|(?:are|do|did|were|have) .*\bsame\b",
        asked,
        re.I,
    ):
        return f'Is({references}, "same")' if len(operands) == 2 else None
    if re.search(r"\bin both \[\d+\] and \[\d+\]", asked):
        return f"Intersect({references})"
    if re.match(r"How many are in \[\d+\]\?$", asked) and len(operands) == 1:
        return f"Count({references})"
    if re.match(r"How many years are between\b", asked) and len(operands) == 2:
        return f'Difference({references}, "years")'
    if re.match(r"How (?:much|many)\b.*\b(?:than|between|difference)\b", asked, re.I):
        return f"Difference({references})" if len(operands) == 2 else None
    if _AUXILIARY.match(asked) and " or " not in asked:
        return None
    if len(operands) < 2 or re.search(r"\b(?:lived|reigned|ruled)\b", asked):
        return None
    dates = all(_DATES_ASKED.search(told.get(number, "")) for number in operands)
    words = asked
    found = [
        (match.start(), name)
        for name, pattern in (
            (("earlier", _EARLIER), ("later", _LATER)) if dates else (("larger", _LARGER), ("smaller", _SMALLER))
        )
        if (match := pattern.search(words))
    ]
    return f'Compare({references}, "{min(found)[1]}")' if found else None


def typed_plan(question: str, compact: str, answer: str = "", understood: str = "") -> str | None:
    """The plan with line 0 and a typed last step; None where the last step cannot be typed.

    Args:
        question: as the plan was made for.
        understood: the question as line 0 is to say it; by default the question itself.
    """
    lines = compact.split("\n")
    told: dict[int, str] = {}
    relation = ""
    made: list[str] = []
    for index, line in enumerate(lines):
        match = _STEP.fullmatch(line)
        if match is None:
            return None
        indent, number, asked, call = match[1], int(match[2]), match[3], match[4]
        if call is None and index == len(lines) - 1 and not indent and _REFERENCE.search(asked):
            operands = list(dict.fromkeys(int(one) for one in _REFERENCE.findall(asked)))
            head = re.match(r"Given (?:answers of )?((?:\[\d+\](?:, | and |, and )?)+),", asked)
            if head:
                operands = list(dict.fromkeys(int(one) for one in _REFERENCE.findall(head[1])))
            operation = operation_for(asked, operands, told)
            if operation is None:
                return None
            shown = re.sub(r"^Given[^,]*(?:, \[\d+\])*(?: and \[\d+\])?, ", "", asked)
            made.append(f"{number}. {shown[:1].upper()}{shown[1:]} = {operation}")
            continue
        if call is not None:
            quoted = re.findall(r'"((?:[^"\\]|\\.)*)"', call)
            relation = quoted[-1] if quoted and call.startswith("Relate") else relation
            told[number] = f"{asked} {relation}"
            if indent:  # a parent's answer is its last child's
                parent = max(n for n in told if n < number) if told else number
                told[parent] = f"{told[parent]} {relation}"
        else:
            told[number] = asked
        made.append(line)
    shown = (understood or question).strip()
    compared = " = Compare(" in made[-1]
    sort, several = answer_type(shown, "" if compared else relation, answer)
    first = f"0. {shown} = Answer({sort}{', several' if several else ''})"
    return "\n".join([first, *made])


def named_as(question: str, plan: str, find: Callable[[str, str], int]) -> str:
    """The plan with each name as the question writes it, which is all that the grammar of plans lets through.

    Args:
        find: where the question writes a name without regard to case and diacritics; -1 where it does not.
    """

    def written(match: re.Match[str]) -> str:
        name, kind = re.fullmatch(r"(.*?)( \([^()]*\))?", match[2], re.DOTALL).groups()  # type: ignore[union-attr]
        whole = find(match[2], question)
        if kind and whole >= 0 and question[whole : whole + len(match[2])].casefold() == match[2].casefold():
            name, kind = match[2], ""
        place = find(name, question)
        return f"{match[1]}{question[place : place + len(name)] if place >= 0 else name}{kind or ''}{match[3]}"

    return _NAME.sub(written, plan)


def capitals_as(understood: str, plan: str) -> str:
    """The plan with each name's words capitalised where the question as understood capitalises them."""

    def written(match: re.Match[str]) -> str:
        name, kind = re.fullmatch(r"(.*?)( \([^()]*\))?", match[2], re.DOTALL).groups()  # type: ignore[union-attr]
        place = understood.casefold().find(name.casefold())
        if place < 0 or len(name.casefold()) != len(name):
            return match[0]
        model = understood[place : place + len(name)].split(" ")
        words = [
            word[:1].upper() + word[1:] if like[:1].isupper() else word
            for word, like in zip(name.split(" "), model, strict=True)
        ]
        return f"{match[1]}{' '.join(words)}{kind or ''}{match[3]}"

    return _NAME.sub(written, plan)


def as_typed(question: str, plan: str, source: random.Random) -> tuple[str, str]:
    """The question as somebody might type it, and the plan with its names as that is written.

    Two in five stay as they are; others lose capitals, the question mark, or both; some get a word before them.
    """
    chance = source.random()
    if chance < 0.4:
        return question, plan
    typed = question.strip()
    if chance < 0.6:
        typed = typed.rstrip("?").rstrip()
    elif chance < 0.9:
        typed = typed.rstrip("?").rstrip().lower()
    else:
        before = source.choice(("so ", "ok, ", "hi, ", "hello! ", "quick question: ", "tell me, ", "please: ", "and "))
        typed = before + typed[:1].lower() + typed[1:]
    if typed.lower() == typed:
        plan = "\n".join(
            line if number == 0 else _NAME.sub(_capitalised, line) for number, line in enumerate(plan.split("\n"))
        )
    return typed, plan


_NAME = re.compile(r'((?:Search|Relate)\(")((?:[^"\\]|\\.)*)(")')


def _capitalised(match: re.Match[str]) -> str:
    """A name as the grammar lets it through over a question in small letters: words with a capital first letter."""
    name, kind = re.fullmatch(r"(.*?)( \([^()]*\))?", match[2], re.DOTALL).groups()  # type: ignore[union-attr]
    words = [word[:1] + word[1:].lower() if word[:1].isupper() else word.lower() for word in name.split(" ")]
    return f"{match[1]}{' '.join(words)}{kind or ''}{match[3]}"
