"""The grammar of plans without line 0 and typed operations, for adapters whose card does not say `"plans": 2`.

A grammar cannot count, but plans are small, so numbering is unrolled: a rule exists for every top-level step and
every number its first sub-step may have. Numbers are then breadth first and unique, references point only to steps
answered before, and a Search names words that stand beside each other in the question, so that no name is invented.
"""

from __future__ import annotations

from atomr_local.backbone.gbnf import word_runs

TOP_LEVEL = 4
SUB_STEPS = 3
_QUESTION_CHARACTERS = 110
_LAST_QUESTION_CHARACTERS = 260
_TEXT_CHARACTERS = 60
_MOST_WORDS = 80
_LONGEST_NAME = 14
_NEVER_IN_NAMES = str.maketrans(dict.fromkeys('"\\[]'))

_FIXED = rf"""
char ::= [^\[\]\r\n="\\\x00-\x1F\x7F]
begin ::= [^\[\]\r\n="\\\x00-\x20\x7F]
text ::= "\"" begin char{{0,{_TEXT_CHARACTERS}}} "\""
"""


def untyped_plan_grammar(question: str) -> str:
    """GBNF, rule `root`, of the compact plans for the question, root line left out."""
    rules: dict[str, str] = {"root": " | ".join(f"step-1-of-{size}-at-{size + 1}" for size in range(1, TOP_LEVEL + 1))}
    for size in range(1, TOP_LEVEL + 1):
        for place in range(1, size + 1):
            least = size + 1
            for first in range(least, least + SUB_STEPS * (place - 1) + 1):
                _step(rules, size, place, first)
    _names(rules, question)
    return "\n".join(f"{name} ::= {body}" for name, body in rules.items()) + _FIXED


def _step(rules: dict[str, str], size: int, place: int, first: int) -> None:
    """Top-level step `place` of `size`; its sub-steps, if any, are numbered from `first`."""
    before = tuple(range(1, place))

    def then(used: int) -> str:
        # A model that was trained on plans ends behind the last sign; made to break the line first, it would go on.
        return f'"\\n" step-{place + 1}-of-{size}-at-{first + used}' if place < size else '"\\n"?'

    head = f'"{place}. " {_question(rules, before)}'
    choices = [f'" = " {_call(rules, before)} {then(0)}']
    # A third or fourth step draws the earlier ones together; broken down further, small models ramble.
    for count in range(1, SUB_STEPS + 1) if place <= 2 or place < size else ():
        lines = []
        for index in range(count):
            known = before + tuple(range(first, first + index))
            lines.append(f'"\\n {first + index}. " {_question(rules, known)} " = " {_call(rules, known)}')
        choices.append(f"{' '.join(lines)} {then(count)}")
    step = f"{head} ({' | '.join(choices)})"
    if before and place == size:
        # The last step may compare or count earlier answers, without an operator; it may repeat the whole question.
        step += f' | "{place}. " {_question(rules, before, _LAST_QUESTION_CHARACTERS)} "\\n"?'
    rules[f"step-{place}-of-{size}-at-{first}"] = step


def _suffix(known: tuple[int, ...]) -> str:
    return "-".join(map(str, known)) or "none"


def _reference(rules: dict[str, str], known: tuple[int, ...]) -> str:
    name = f"reference-{_suffix(known)}"
    rules.setdefault(name, " | ".join(f'"[{number}]"' for number in known))
    return name


def _question(rules: dict[str, str], known: tuple[int, ...], most: int = _QUESTION_CHARACTERS) -> str:
    name = f"question-{most}-{_suffix(known)}"
    middle = f"(char | {_reference(rules, known)})" if known else "char"
    rules.setdefault(name, f"begin {middle}{{1,{most}}}")
    return name


def _call(rules: dict[str, str], known: tuple[int, ...]) -> str:
    name = f"call-{_suffix(known)}"
    if name in rules:
        return name
    choices = ['"Search(\\"" name "\\"" (", " text)? ")"', '"Relate(\\"" name "\\", " text ")"']
    if known:
        reference = _reference(rules, known)
        choices += [f'"{operator}(" {reference} ", " text ")"' for operator in ("Relate", "Filter")]
        choices.append(f'"Search(" {reference} ", " text ")"')
    rules[name] = " | ".join(choices)
    return name


def _names(rules: dict[str, str], question: str) -> None:
    """`name`: any run of the question's words."""
    words = question.translate(_NEVER_IN_NAMES).split()[:_MOST_WORDS]
    word_runs(rules, "name", [" ".join(words)], longest=_LONGEST_NAME)
    rules.setdefault("name", "begin char{0,60}")
