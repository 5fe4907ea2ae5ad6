"""The plan grammar for one question: everything that it allows is valid.

A plan is line 0, with the question as understood and the expected answer, and optionally steps. A step is a look-up
(`Relate("Hamlet (1948 film)", "director")`, `Filter([1], "condition")`), a typed operation over earlier steps, or a
question that is broken down into look-ups of its own. The last step may be a question over earlier steps. A name is a
run of words of the question, each as typed or with a capital first letter, so that the model cannot invent names. It
may be followed by a description in parentheses.

A grammar cannot count, but plans are small, so the numbering is unrolled. Nodes are numbered breadth first: the numbers
below a step begin after the last one of the top level, so the first of them determines the size of the top level.
"""

from __future__ import annotations

from collections.abc import Sequence

from atomr_local.backbone.gbnf import first_form, last_forms, literal
from atomr_local.tree.answer_types import NO_QUESTION, AnswerType
from atomr_local.tree.operations import CONDITIONS, DIRECTIONS, PARTS, RELATIONS, Operation

# Steps of a plan that breaks none of them down, and of one that does; steps below one step.
STEPS = 10
TOP_LEVEL = 6
SUB_STEPS = 3
_QUESTION_CHARACTERS = 180
_TEXT_CHARACTERS = 80
_KIND_CHARACTERS = 40
_REFERENCES_IN_QUESTION = 6
_MOST_WORDS = 120
_NEVER_IN_NAMES = str.maketrans(dict.fromkeys('"\\[]'))
_ORDERED = (Operation.COMPARE, Operation.SORT)
_ON_SETS = (Operation.ALL, Operation.ANY, Operation.UNION, Operation.INTERSECT, Operation.EACH)
_ON_AMOUNTS = (Operation.SUM, Operation.AVERAGE)
_ON_PAIRS = (Operation.RATIO, Operation.EXCEPT)

_FIXED = rf"""
char ::= [^\[\]\r\n="\\\x00-\x1F\x7F]
begin ::= [^\[\]\r\n="\\\x00-\x20\x7F]
asked ::= [^\[\]\r\n=\\\x00-\x1F\x7F]
asking ::= [^\[\]\r\n=\\\x00-\x20\x7F]
piece ::= asked{{0,{_QUESTION_CHARACTERS}}}
words ::= char{{0,{_TEXT_CHARACTERS}}}
text ::= "\"" begin char{{0,{_TEXT_CHARACTERS}}} "\""
unit ::= "\"" [^\[\]\r\n="\\\x00-\x20\x7F] [^\[\]\r\n="\\\x00-\x1F\x7F]{{0,24}} "\""
number ::= "\"" [1-9] [0-9]? "\""
kind ::= " (" [^()\[\]\r\n="\\\x00-\x20\x7F] [^()\[\]\r\n="\\\x00-\x1F\x7F]{{0,{_KIND_CHARACTERS}}} ")"
word ::= [^\r\n=\\\x00-\x20\x7F] [^\r\n\\\x00-\x20\x7F]*
loose ::= "[" [1-9] [0-9]? "]"
loose-list ::= loose (", " loose){{0,5}}
"""


def plan_grammar(question: str) -> str:
    """The GBNF grammar (rule `root`) of the plans for the question as typed."""
    rules: dict[str, str] = {}
    most = 2 * len(question.split()[:_MOST_WORDS]) + 10
    asking = " | ".join(literal(str(one)) for one in AnswerType if one not in NO_QUESTION)
    asking_nothing = " | ".join(literal(str(one)) for one in AnswerType if one in NO_QUESTION)
    rules["root"] = (
        f'"0. " word (" " word){{0,{most}}} " = Answer("'
        f' ((({asking}) ", several"? ")" ("\\n" step-1?)?) | (({asking_nothing}) ")" "\\n"?))'
    )
    for name, words in (("direction", DIRECTIONS), ("condition", CONDITIONS), ("relation", RELATIONS), ("part", PARTS)):
        rules[name] = " | ".join(literal(f'"{word}"') for word in words)
    for place in range(1, STEPS + 1):
        _flat_step(rules, place)
    rules["loose-operation"] = _operation("loose", "loose-list", 'loose (", " loose){1,5}', 'loose ", " loose')
    _names(rules, question)
    return "\n".join(f"{name} ::= {body}" for name, body in rules.items()) + _FIXED


def _flat_step(rules: dict[str, str], place: int) -> None:
    """The step at this place if no earlier step is broken down, and what may follow."""
    known = place - 1
    after = f'("\\n" step-{place + 1}?)?' if place < STEPS else '"\\n"?'
    choices = [f'" = " {_call(rules, known)} {after}']
    for size in range(max(place, 2), TOP_LEVEL + 1):
        choices += _broken_down(rules, size, place, size + 1)
    step = f'"{place}. " {_question(rules, known)} ({" | ".join(choices)})'
    if place > 1:
        step += f' | "{place}. " {_question(rules, known)} "\\n"?'
    rules[f"step-{place}"] = step


def _step(rules: dict[str, str], size: int, place: int, first: int) -> str:
    """Name of the rule for top-level step `place` of `size` and what follows; `first` is the next free number."""
    name = f"step-{place}-of-{size}-at-{first}"
    if name in rules:
        return name
    rules[name] = ""
    known = place - 1
    after = f'"\\n" {_step(rules, size, place + 1, first)}' if place < size else '"\\n"?'
    choices = [f'" = " {_call(rules, known)} {after}', *_broken_down(rules, size, place, first)]
    step = f'"{place}. " {_question(rules, known)} ({" | ".join(choices)})'
    if place == size:
        step += f' | "{place}. " {_question(rules, known)} "\\n"?'
    rules[name] = step
    return name


def _broken_down(rules: dict[str, str], size: int, place: int, first: int) -> list[str]:
    """What may follow the question of step `place` of `size` if it is broken down; numbers begin at `first`."""
    if place == size > 2:  # the last step combines the earlier ones; breaking it down makes small models ramble
        return []
    choices = []
    lines = ""
    for count in range(1, SUB_STEPS + 1):
        number = first + count - 1
        lines += f' "\\n {number}. " {_below(rules, place - 1, first, count - 1)}'
        behind = f'"\\n" {_step(rules, size, place + 1, number + 1)}' if place < size else '"\\n"?'
        choices.append(f"{lines} {behind}")
    return choices


def _below(rules: dict[str, str], known: int, first: int, beside: int) -> str:
    """Name of the rule for a step below another: its question and its look-up.

    Args:
        known: number of top-level steps answered before.
        beside: number of earlier steps below the same parent, numbered from `first`.
    """
    if not beside:
        name = f"below-{known}"
        rules.setdefault(name, f'{_question(rules, known)} " = " {_lookup(rules, known)}')
        return name
    name = f"below-{known}-{first}-{beside}"
    if name not in rules:
        numbers = [*range(1, known + 1), *range(first, first + beside)]
        reference = f"reference-{known}-{first}-{beside}"
        rules[reference] = _any_of(numbers)
        asked = f"(asking | {reference}) piece ({reference} piece){{0,{_REFERENCES_IN_QUESTION}}}"
        rules[name] = f'{asked} " = " ({_lookups(reference)} | loose-operation)'
    return name


def _any_of(numbers: Sequence[int]) -> str:
    return " | ".join(f'"[{number}]"' for number in numbers)


def _reference(rules: dict[str, str], known: int) -> str:
    rules.setdefault(f"reference-{known}", _any_of(range(1, known + 1)))
    return f"reference-{known}"


def _question(rules: dict[str, str], known: int) -> str:
    name = f"question-{known}"
    if known:
        reference = _reference(rules, known)
        body = f"(asking | {reference}) piece ({reference} piece){{0,{_REFERENCES_IN_QUESTION}}}"
    else:
        body = "asking piece"
    rules.setdefault(name, body)
    return name


def _lookups(reference: str) -> str:
    """Look-ups of names or of answers that the rule `reference` refers to; "": of names alone."""
    names = '"Search(\\"" name "\\"" (", " text)? ")"'
    if not reference:
        return f'"Relate(\\"" name "\\", " text ")" | {names}'
    # The relation may depend on an earlier step: Relate([1], "governor in [2]").
    text = f'"\\"" (begin | {reference}) words ({reference} words){{0,2}} "\\""'
    heads = f'"Relate(\\"" name "\\", " | ("Relate(" | "Filter(" | "Search(") {reference} ", "'
    return f'({heads}) {text} ")" | {names}'


def _lookup(rules: dict[str, str], known: int) -> str:
    name = f"lookup-{known}"
    rules.setdefault(name, _lookups(_reference(rules, known) if known else ""))
    return name


def _call(rules: dict[str, str], known: int) -> str:
    """Name of the rule for the call of a top-level step after `known` answered steps."""
    name = f"call-{known}"
    if name not in rules:
        lookup = _lookup(rules, known)
        rules[name] = lookup
        if known:
            several, pair = "", ""
            if known > 1:
                several, pair = _list(rules, known, 2), _pair(rules, known)
            operation = _operation(_reference(rules, known), _list(rules, known, 1), several, pair)
            rules[name] = f"{lookup} | {operation}"
    return name


def _list(rules: dict[str, str], known: int, least: int) -> str:
    """Name of the rule for references to at least `least` (1 or 2) of the known steps, ascending, each once."""
    for first in range(known, 0, -1):
        more = " | ".join(f"list-{following}-of-{known}" for following in range(first + 1, known + 1))
        rules[f"list-{first}-of-{known}"] = f'"[{first}]"' + (f' (", " ({more}))?' if more else "")
    name = f"list-{known}-least-{least}"
    if least == 1:
        rules[name] = " | ".join(f"list-{first}-of-{known}" for first in range(1, known + 1))
    else:
        choices = []
        for first in range(1, known):
            more = " | ".join(f"list-{following}-of-{known}" for following in range(first + 1, known + 1))
            choices.append(f'"[{first}], " ({more})')
        rules[name] = " | ".join(choices)
    return name


def _pair(rules: dict[str, str], known: int) -> str:
    name = f"pair-{known}"
    choices = []
    for first in range(1, known + 1):
        others = [other for other in range(1, known + 1) if other != first]
        choices.append(f'"[{first}], " ({_any_of(others)})')
    rules[name] = " | ".join(choices)
    return name


def _operation(one: str, some: str, several: str, pair: str) -> str:
    """Every typed operation, given the rules for one reference, one or more, two or more, and two ("": impossible)."""

    def named(*operations: Operation) -> str:
        return "(" + " | ".join(literal(f"{operation}(") for operation in operations) + ")"

    choices = [
        f'{named(*_ORDERED)} {some} ", " direction ")"',
        f'{named(Operation.TOP)} {some} ", " direction ", " number ")"',
        f'{named(Operation.SELECT)} {some} ", " text ", " condition ")"',
        f'{named(Operation.IS)} {one} ", " text ", " relation ")"',
        f'{named(*_ON_AMOUNTS)} {some} ")"',
        f'{named(Operation.COUNT)} {one} ")"',
        f'{named(Operation.PART)} {one} ", " part ")"',
        f'{named(Operation.CONVERT)} {one} ", " unit ")"',
    ]
    if pair:
        choices += [
            f'{named(*_ON_SETS)} {several} ")"',
            f'{named(Operation.SELECT)} {several} ", " condition ")"',
            f'{named(Operation.IS)} {pair} ", " relation ")"',
            f'{named(*_ON_PAIRS)} {pair} ")"',
            f'{named(Operation.DIFFERENCE)} {pair} (", " unit)? ")"',
        ]
    return " | ".join(choices)


def _names(rules: dict[str, str], question: str) -> None:
    """`name`: any run of the question's words, optionally followed by a description in parentheses."""
    starts: list[str] = []
    words = question.translate(_NEVER_IN_NAMES).split()[:_MOST_WORDS]
    for index, word in enumerate(words):
        more = f"name-{index + 1}" if index + 1 < len(words) else ""
        own = f"name-{index}"
        rules[own] = _word(word, more)
        if not any(map(str.isalnum, word)):
            continue
        bare = first_form(word)
        if bare != word:
            own = f"{own}-bare"
            rules[own] = _word(bare, more)
        starts.append(own)
    rules["name"] = f"({' | '.join(starts)}) kind?" if starts else "begin char{0,60}"


def _word(word: str, more: str) -> str:
    lasts = last_forms(word)
    closed = word.rstrip(',;:"”’»)]')
    if closed.endswith(("!", "...", "…")) or (more and closed.endswith(("?", "."))):  # as names may end
        lasts.append(closed)
    choices = [form for last in lasts for form in _as_written(last)]
    terminals = [literal(form) for form in dict.fromkeys(choices)]
    if more:
        going_on = " | ".join(literal(f"{form} ") for form in _as_written(word))
        terminals.append(f"({going_on}) {more}")
    return " | ".join(terminals)


def _as_written(word: str) -> tuple[str, ...]:
    """The word as typed, and with a capital first letter."""
    for place, character in enumerate(word):
        if character.isalnum():
            large = word[:place] + character.upper() + word[place + 1 :]
            return (word,) if large == word else (word, large)
    return (word,)
