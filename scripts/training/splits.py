"""What may be trained on: everything here keeps questions out of it."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable, Sequence
from pathlib import Path

from atomr_local.language.names import name_key
from training.files import Line, read_lines

# The last articles of SQuAD's part are for measuring the reader.
_HELD_BACK_ARTICLES = 5
# One question of so many is left to calibration.
_CALIBRATING = {"facts": 20, "questions": 6, "dialogues": 10, "documents": 12}


def training_part(records: Sequence[Line]) -> Sequence[Line]:
    """The first four fifths; the rest is the development split."""
    return records[: len(records) * 4 // 5]


def development_part(records: Sequence[Line]) -> Sequence[Line]:
    return records[len(records) * 4 // 5 :]


def held_back_articles(squad: Iterable[Line]) -> set[str]:
    return set(list(dict.fromkeys(str(row["title"]) for row in squad))[-_HELD_BACK_ARTICLES:])


def for_calibration(item: Line, kind: str) -> bool:
    """Whether one of our natural questions is kept out of training, for calibration: its words alone decide.

    Args:
        kind: "facts", "questions", "dialogues" or "documents".
    """
    text = item["question"] if "question" in item else item["turns"][0]["question"]
    digest = hashlib.blake2b(text.encode(), digest_size=8).digest()
    return int.from_bytes(digest) % _CALIBRATING[kind] == 0


def banned_questions(data: Path) -> set[str]:
    """Keys of the questions that are for measuring only."""
    keys: set[str] = set()
    for path in sorted((data / "trees").glob("*.jsonl")) + sorted((data / "predictions").glob("*.jsonl")):
        keys.update(name_key(str(row.get("question", ""))) for row in read_lines(path))
    for path in sorted((data / "qa" / "official").rglob("*")):
        if path.suffix in {".json", ".jsonl"}:
            found = re.findall(r'"(?:question|query)": ?"((?:[^"\\]|\\.)+)"', path.read_text("utf-8"))
            keys.update(map(name_key, found))
    return keys
