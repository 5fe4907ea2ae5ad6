"""Wikidata's JSON as people have it: indented, single entities, arrays on one line, media of Commons."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from atomr_local.errors import InputError
from atomr_local.indexing.readers.detect import detect_graph_format
from atomr_local.indexing.readers.facts import json_lines as wikidata_json
from atomr_local.indexing.readers.facts.json_lines import is_indented, read_entities
from atomr_local.indexing.readers.lines import LineReader, Skipped

NASTY = 'braces } ] { [ and a quote " and a backslash \\'


def entity(number: int) -> dict[str, Any]:
    labels = {"en": {"language": "en", "value": f"{NASTY} {number}"}}
    return {"pageid": 1, "ns": 0, "type": "item", "id": f"Q{number}", "labels": labels, "claims": {}}


def written(path: Path, data: object, indent: int | str | None = 2, *, sort_keys: bool = False) -> Path:
    path.write_text(json.dumps(data, indent=indent, sort_keys=sort_keys), encoding="utf-8")
    return path


def ids(path: Path, after: int = 0) -> list[str]:
    skipped = Skipped()
    found = [item["id"] for record in read_entities(LineReader(path, after), skipped) for item in record.entities]
    assert skipped.count == 0, skipped.samples
    return found


@pytest.mark.parametrize("indent", [2, 0, "\t", None])
@pytest.mark.parametrize(
    ("data", "found"),
    [
        (entity(42), ["Q42"]),
        ({"entities": {"Q42": entity(42)}}, ["Q42"]),
        ({"entities": {"Q42": entity(42), "Q43": entity(43)}, "success": 1}, ["Q42", "Q43"]),
        ({"Q42": entity(42)}, ["Q42"]),
        ([entity(1), entity(2), entity(3)], ["Q1", "Q2", "Q3"]),
    ],
    ids=["entity", "EntityData", "API", "by id", "array"],
)
def test_every_layout_is_recognised_and_read(tmp_path: Path, data: object, found: list[str], indent: Any) -> None:
    for sort_keys in (False, True):
        file = written(tmp_path / "a.json", data, indent, sort_keys=sort_keys)
        assert is_indented(file) == (indent is not None)
        assert detect_graph_format(file) == "wikidata-json"
        assert ids(file) == found


def test_an_indented_array_goes_on_after_the_line_that_was_done(tmp_path: Path) -> None:
    file = written(tmp_path / "a.json", [entity(1), entity(2), entity(3)])
    records = list(read_entities(LineReader(file), Skipped()))
    assert ids(file, after=records[0].record) == ["Q2", "Q3"]


def test_a_damaged_value_of_an_indented_array_is_named_and_the_next_one_read(tmp_path: Path) -> None:
    text = json.dumps([entity(1), entity(2), entity(3)], indent=1).replace('"id": "Q2",', '"id": Q2,')
    file = tmp_path / "a.json"
    file.write_text(text, encoding="utf-8")
    skipped = Skipped()
    found = [item["id"] for record in read_entities(LineReader(file), skipped) for item in record.entities]
    assert found == ["Q1", "Q3"]
    assert [reason[:8] for _, _, reason in skipped.samples] == ["not JSON"]


def test_a_value_without_end_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    text = json.dumps(entity(1), indent=1)
    file = tmp_path / "a.json"
    file.write_text(text[:-20], encoding="utf-8")
    with pytest.raises(InputError, match=r"a\.json, line \d+: not a Wikidata JSON dump: not JSON"):
        ids(file)
    monkeypatch.setattr(wikidata_json, "_MOST_BYTES", 50)
    with pytest.raises(InputError, match="a JSON value is longer than"):
        ids(file)


def test_a_damaged_first_line_of_a_dump_does_not_swallow_the_rest(tmp_path: Path) -> None:
    file = tmp_path / "a.json"
    whole = json.dumps(entity(2))
    file.write_text("[\n" + json.dumps(entity(1))[:60] + ",\n" + whole + "\n]\n", encoding="utf-8")
    assert not is_indented(file)
    skipped = Skipped()
    assert [r.entities[0]["id"] for r in read_entities(LineReader(file), skipped)] == ["Q2"]
    assert skipped.count == 1


def test_media_are_entities_and_lexemes_are_counted(tmp_path: Path) -> None:
    media = {"type": "mediainfo", "id": "M7", "labels": {}, "statements": {"P180": []}}
    lines = [json.dumps(item) for item in (media, {"type": "lexeme", "id": "L1", "lemmas": {}}, entity(5))]
    file = tmp_path / "a.json"
    file.write_text("\n".join(lines), encoding="utf-8")
    passed: Counter[str] = Counter()
    found = list(read_entities(LineReader(file), Skipped(), None, lambda what, n: passed.update({what: n})))
    assert [item["id"] for record in found for item in record.entities] == ["M7", "Q5"]
    assert found[0].entities[0]["claims"] == {"P180": []}
    assert passed == {"lexemes": 1}
