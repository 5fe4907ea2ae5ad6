"""Training examples: a prompt as the program writes it, and the answer that the adapter is to learn.

A line is {"task", "source", "messages": [{"role", "content"}, …], "answer"}; `answer` is what the model is to write.
With "learn": false there is no loss on it; "then" holds further turns, {"ask", "answer"} each, with loss on their
answers.
"""

from __future__ import annotations

import random
import re
import sys
from collections import Counter
from collections.abc import Iterable, Sequence

from atomr_local.language.literals import dates_in, parse_date
from atomr_local.models.protocol import Prompt
from training.files import Line

# Words of a passage that a prompt shows.
PASSAGE_WORDS = 70
CHECK = "Check."


def example(task: str, source: str, prompt: Prompt, answer: str) -> Line:
    messages = [{"role": message.role, "content": message.content} for message in prompt.messages]
    return {"task": task, "source": source, "messages": messages, "answer": answer}


def checked(made: Line) -> Line:
    """The example, then the check that its answer is right."""
    return made | {"then": [{"ask": CHECK, "answer": "yes"}]}


def refuted(made: Line) -> Line:
    """A wrong answer, not learnt, then the check that refuses it."""
    return made | {"learn": False, "then": [{"ask": CHECK, "answer": "no"}]}


def span_of(value: str, text: str) -> str | None:
    """The value as the text writes it, as whole words; a date in any usual order. None where it is not there."""
    if not value.strip():
        return None
    match = re.search(rf"(?<!\w){re.escape(value.strip())}(?!\w)", text, re.IGNORECASE)
    if match:
        return match[0]
    date = parse_date(value, bare_year=False)
    if date is not None:
        return next((written for written in dates_in([text]) if parse_date(written) == date), None)
    return None


def cited(answer: str, shown: Sequence[tuple[str, str]]) -> tuple[str, int] | None:
    """The answer as the first passage that holds it writes it, in its text or its title, and the passage's number."""
    for number, (title, text) in enumerate(shown, 1):
        if (span := span_of(answer, text) or span_of(answer, title)) is not None:
            return span, number
    return None


def parts_kept(made: Iterable[Line], shares: Sequence[str], key: str, source: random.Random) -> list[Line]:
    """The examples with a random part of some kinds.

    Args:
        shares: KIND=PART each.
        key: the kind of an example, as a format of its fields.
    """
    parts = {kind: float(part) for kind, _, part in (text.partition("=") for text in shares)}
    return [item for item in made if source.random() < parts.get(key.format_map(item), 1.0)]


def print_kinds(made: Sequence[Line]) -> None:
    """How many examples there are of each kind, on standard error."""
    unknown = [" · Unknown" * (item["answer"] == "Unknown") for item in made]
    kinds = Counter(f"{item['task']} · {item['source']}{tail}" for item, tail in zip(made, unknown, strict=True))
    for name, number in sorted(kinds.items()):
        print(f"{number:6} {name}", file=sys.stderr)
    print(f"{len(made)} examples", file=sys.stderr)
