"""Questions of one hop with the property that each asks for, and what is known of properties.

`linking.py` measures on them; `scripts/train_relation_match.py` learns from them.
"""

from __future__ import annotations

import csv
import json
import re
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from atomr_local.indexing.graph_index.names.database import PropertyRow
from atomr_local.language.properties import PROPERTY

ENTITY = "http://www.wikidata.org/entity/"
LEFT_OUT = {"external-identifier", "url", "globe-coordinate", "commonsMedia"}
QUOTED = re.compile(r"'(.*)'@en$", re.DOTALL)
RANGE = {"item": 0, "time": 1, "quantity": 2}

Way = tuple[str, bool]
"""A property, and whether it is followed from its value to its subject."""


@dataclass(frozen=True)
class Item:
    """A question, its entity, and the property wanted; inverse: the entity is the property's value."""

    source: str
    part: str
    question: str
    entity: str
    way: Way


def parted(rows: Sequence[Any]) -> Iterator[tuple[str, Any]]:
    for place, row in enumerate(rows):
        yield ("dev" if place < len(rows) * 4 // 5 else "held"), row


def items(data: Path, parts: Sequence[str] = ("train", "valid")) -> Iterator[Item]:
    """SimpleQuestions' files named in `parts`, and RuBQ's."""
    folder = data / "decomposition"
    for name in parts:
        lines = (folder / f"simplequestions_wikidata_{name}.tsv").read_text(encoding="utf-8").splitlines()
        for part, line in parted(lines):
            entity, way, _, question = line.split("\t")
            yield Item("SimpleQuestions", part, question, entity, (PROPERTY + "P" + way[1:], way[0] == "R"))
    for name in ("rubq_1.0_test", "RuBQ_2.0_dev"):
        rows = json.loads((folder / f"{name}.json").read_text(encoding="utf-8"))
        plain = [
            row for row in rows
            if "1-hop" in row["tags"] and len(row["question_uris"] or ()) == len(row["question_props"] or ()) == 1
        ]  # fmt: skip
        for part, row in parted(plain):
            entity, prop = row["question_uris"][0].removeprefix(ENTITY), row["question_props"][0]
            inverse = re.search(rf"\?\w+\s+{prop}\s+wd:{entity}\b", row["query"]) is not None
            yield Item("RuBQ", part, row["question_eng"], entity, (PROPERTY + prop[4:], inverse))


def triples(data: Path) -> list[tuple[str, str, str]]:
    rows = []
    for line in (data / "kg" / "codex_m_train.tsv").read_text(encoding="utf-8").splitlines():
        subject, prop, target = line.split("\t")
        rows.append((subject, prop, target))
    return rows


def properties(data: Path, uses: Counter[str]) -> list[PropertyRow]:
    folder = data / "fixtures" / "wikidata"
    told: dict[str, dict[str, list[str]]] = defaultdict(lambda: defaultdict(list))
    for file in ("wikidata_sample.tsv", "wikidata_properties.tsv"):
        with (folder / file).open(encoding="utf-8", newline="") as stream:
            for row in csv.DictReader(stream, delimiter="\t", quoting=csv.QUOTE_NONE):
                told[row["node1"]][row["label"]].append(row["node2"])
    labels = json.loads((folder / "property_labels_en_2017.json").read_text(encoding="utf-8"))
    codex = json.loads((data / "kg" / "codex_relations_en.json").read_text(encoding="utf-8"))
    rows = []
    for pid in sorted({*labels, *codex}, key=lambda pid: (-uses[pid], int(pid[1:]))):
        kind = (told[pid]["property_type"] or ["item"])[0]
        if kind in LEFT_OUT:
            continue
        aliases = [match[1] for text in told[pid]["alias"] if (match := QUOTED.match(text))]
        described = [match[1] for text in told[pid]["description"] if (match := QUOTED.match(text))]
        described += [codex[pid]["description"]] if pid in codex else []
        ranges = [0, 0, 0, 0]
        ranges[RANGE.get(kind, 3)] = 1 + uses[pid]
        label = labels.get(pid) or codex[pid]["label"]
        rows.append(PropertyRow(PROPERTY + pid, label, (described or [""])[0], tuple(aliases), *ranges))
    return rows
