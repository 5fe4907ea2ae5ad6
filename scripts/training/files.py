"""Where our own data lies, and JSON lines in and out."""

from __future__ import annotations

import gzip
import json
import tomllib
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from atomr_local.system.files import write_output

SCRIPTS = Path(__file__).resolve().parents[1]
ROOT = SCRIPTS.parent
STARTER = ROOT / "indexes" / "pocket"
# Our own questions on passages of the corpora, and our own plans (see the README in the directory).
QUESTIONS = SCRIPTS / "training_questions"
# Our own plans for questions of a set that comes without decompositions, by the question's id.
PLANS = SCRIPTS / "training_plans"
LANGUAGE_DATA = SCRIPTS / "language_data"

Line = dict[str, Any]


def read_lines(path: Path) -> list[Line]:
    with gzip.open(path, "rt", encoding="utf-8") if path.suffix == ".gz" else path.open(encoding="utf-8") as stream:
        return [json.loads(text) for text in stream if text.strip()]


def write_lines(path: Path, lines: Iterable[Line]) -> None:
    write_output(path, "".join(json.dumps(item, ensure_ascii=False) + "\n" for item in lines))


def language_lines(name: str) -> list[str]:
    """The lines of a file of `language_data`, without comments."""
    text = (LANGUAGE_DATA / name).read_text(encoding="utf-8")
    return [line for line in text.splitlines() if line.strip() and not line.startswith("# ")]


def language_forms() -> dict[str, Any]:
    """`language_data/forms.toml`: forms in which people put questions."""
    return tomllib.loads((LANGUAGE_DATA / "forms.toml").read_text(encoding="utf-8"))
