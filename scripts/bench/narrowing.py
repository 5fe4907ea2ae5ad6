"""How often the reader's grammar narrows an answer by its expected type, and how often that rules out the right one.

    python scripts/bench/narrowing.py --data ../shared/data

Over the answerable questions of SQuAD 2.0's five held-back articles, as asked, asked politely, and in small letters
without a mark. No model runs: an answer counts as ruled out where no text that the grammar allows holds it or is part
of it.
"""

from __future__ import annotations

import argparse
import json
from collections import Counter
from collections.abc import Callable
from pathlib import Path

from atomr_local.language.literals import dates_in
from atomr_local.language.names import capitalised, countries_in, name_key
from atomr_local.language.question_kind import SURE, expected_type
from atomr_local.language.words import number_words

FORMS: dict[str, Callable[[str], str]] = {
    "as asked": lambda question: question,
    "politely": lambda question: f"Can you tell me {question[0].lower()}{question[1:]}",
    "small letters": lambda question: question.casefold().rstrip("? "),
}


def narrowed(question: str) -> str:
    """What the grammar narrows the answer to; "" where it takes any words of the passage."""
    expected = expected_type(question)
    if expected.surely("yes/no"):
        return "yes/no"
    if expected.surely("date", "year"):
        return "date"
    if expected.country >= SURE:
        return "country"
    return "number" if expected.surely("number", "quantity") else ""


def allows(kind: str, passage: str, answers: list[str]) -> bool:
    """Whether the narrowed grammar allows one of the answers, wholly or in its essential part."""
    if kind == "yes/no":
        return any(answer.casefold() in ("yes", "no") for answer in answers)
    if kind == "number":
        opens = number_words().opens_number
        return not any(map(opens, passage.split())) or any(any(map(opens, answer.split())) for answer in answers)
    names: tuple[str, ...] = dates_in([passage])
    if kind == "country":
        names = (*countries_in(passage), *capitalised([passage])) if countries_in(passage) else ()
    keys = [name_key(name) for name in names]
    wanted = [name_key(answer) for answer in answers]
    return not keys or any(key in answer or answer in key for key in keys for answer in wanted)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, required=True)
    options = parser.parse_args()
    text = (options.data / "reading/squad2_part.jsonl").read_text(encoding="utf-8")
    rows = [json.loads(line) for line in text.splitlines()]
    shut = set(list(dict.fromkeys(row["title"] for row in rows))[-5:])
    rows = [row for row in rows if row["title"] in shut and not row["unanswerable"]]
    for form, asked in FORMS.items():
        kinds: Counter[str] = Counter()
        lost: Counter[str] = Counter()
        for row in rows:
            kind = narrowed(asked(row["question"]))
            if kind:
                kinds[kind] += 1
                lost[kind] += not allows(kind, row["context"], row["answers"])
        told = ", ".join(f"{kind} {lost[kind]} of {count}" for kind, count in kinds.most_common())
        print(f"{form}: {len(rows)} questions, {kinds.total()} narrowed, {lost.total()} ruled out ({told})")


if __name__ == "__main__":
    main()
