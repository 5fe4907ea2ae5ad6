"""Entities as Wikidata's JSON has them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

WD, WDT = "http://www.wikidata.org/entity/", "http://www.wikidata.org/prop/direct/"


def snak(pid: str, value: str | int | dict[str, str]) -> dict[str, Any]:
    """A property with a value: an id of an item, an amount, a day, month or year, or a text with its language."""
    if isinstance(value, dict):
        found: Any = {"type": "monolingualtext", "value": value}
    elif isinstance(value, int):
        found = {"type": "quantity", "value": {"amount": f"+{value}", "unit": "1"}}
    elif value.startswith("Q"):
        found = {"type": "wikibase-entityid", "value": {"id": value}}
    else:
        parts = value.count("-") + 1
        time = f"+{value}{'-00' * (3 - parts)}T00:00:00Z"
        found = {"type": "time", "value": {"time": time, "precision": 8 + parts}}
    return {"snaktype": "value", "property": pid, "datavalue": found}


def claim(pid: str, value: str | int | dict[str, str], rank: str = "normal", **qualifiers: str) -> dict[str, Any]:
    """A statement; `qualifiers` by their P-ids."""
    grouped = {name: [snak(name, content)] for name, content in qualifiers.items()}
    return {"mainsnak": snak(pid, value), "rank": rank, "qualifiers": grouped}


def entity(identifier: str, label: str, *claims: dict[str, Any]) -> dict[str, Any]:
    """An item or a property with these statements."""
    grouped: dict[str, list[dict[str, Any]]] = {}
    for number, one in enumerate(claims):
        numbered = one | {"id": f"{identifier}${number:08d}-0000-0000-0000-000000000000"}
        grouped.setdefault(one["mainsnak"]["property"], []).append(numbered)
    kind = "item" if identifier.startswith("Q") else "property"
    return {"type": kind, "id": identifier, "labels": {"en": {"language": "en", "value": label}}, "claims": grouped}


def written_dump(file: Path, *entities: dict[str, Any]) -> Path:
    file.write_text("\n".join(map(json.dumps, entities)), encoding="utf-8")
    return file
