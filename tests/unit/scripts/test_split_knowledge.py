"""Each entity's facts are left in one source only, and the questions are told apart by what they need."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from support.eval_fakes import read_lines, write_lines
from support.places import SHARED
from support.script_loader import load_script

split = load_script("split_knowledge")


def film(number: int) -> dict[str, Any]:
    title, person, year = f"Film {number}", f"Person {number}", f"19{number:02d}"
    return {
        "id": f"q{number}",
        "question": f"When was the director of {title} born?",
        "answers": [year],
        "gold_titles": [f"{title} (1999 film)", person],
        "evidences": [[title, "director", person], [person, "date of birth", year]],
    }


@pytest.fixture
def data(tmp_path: Path) -> Path:
    data = tmp_path / "data"
    (data / "qa").mkdir(parents=True)
    (data / "kg").mkdir()
    questions = [film(number) for number in range(50)]
    write_lines(data / split.QUESTIONS, *questions)
    pages = [{"title": title, "text": f"About {title}."} for line in questions for title in line["gold_titles"]]
    write_lines(data / split.CORPORA[0], *pages, {"title": "Alone", "text": "A page without triples."})
    write_lines(data / split.CORPORA[1], pages[0])
    triples = [{"s": s, "p": p, "o": o} for line in questions for s, p, o in line["evidences"]]
    write_lines(data / split.FACTS, *triples, {"s": "Lonely", "p": "p", "o": "o"})
    return data


def test_every_entity_is_left_in_one_source(data: Path, tmp_path: Path) -> None:
    counts = split.divide(data, tmp_path / "out", 0)
    pages = {line["title"].removesuffix(" (1999 film)") for line in read_lines(tmp_path / "out" / "corpus.jsonl")}
    subjects = {line["s"] for line in read_lines(tmp_path / "out" / "triples.jsonl")}
    assert pages & subjects == set()
    assert pages | subjects == {f"{kind} {n}" for kind in ("Film", "Person") for n in range(50)} | {"Alone", "Lonely"}
    assert counts["entities with both"] == 100
    assert counts["pages"] == [101, len(pages)]
    assert 30 < len(pages) < 70


def test_any_pages_and_facts(data: Path, tmp_path: Path) -> None:
    counts = split.divide_any(data / split.CORPORA[0], data / split.FACTS, tmp_path / "any", 0)
    pages = {line["title"].removesuffix(" (1999 film)") for line in read_lines(tmp_path / "any" / "corpus.jsonl")}
    subjects = {line["s"] for line in read_lines(tmp_path / "any" / "triples.jsonl")}
    assert pages & subjects == set()
    assert counts["pages"] == [101, len(pages)]


def test_questions_by_what_they_need(data: Path, tmp_path: Path) -> None:
    counts = split.divide(data, tmp_path / "out", 0)
    pages = {line["title"] for line in read_lines(tmp_path / "out" / "corpus.jsonl")}
    crossing, one_side = (read_lines(tmp_path / "out" / f"{name}.jsonl") for name in ("crossing", "one_side"))
    assert {line["id"] for line in crossing + one_side} == {f"q{n}" for n in range(40, 50)}  # the last fifth
    for line in crossing:
        assert sum(title in pages for title in line["gold_titles"]) == 1
    for line in one_side:
        assert line["kind"] == ("pages only" if line["gold_titles"][0] in pages else "triples only")
        assert sum(title in pages for title in line["gold_titles"]) in (0, 2)
    assert counts["development questions"]["crossing"] == len(crossing)


def test_the_seed_decides(data: Path, tmp_path: Path) -> None:
    def written(out: str, seed: int) -> bytes:
        split.divide(data, tmp_path / out, seed)
        return (tmp_path / out / "corpus.jsonl").read_bytes()

    assert written("a", 0) == written("b", 0) != written("c", 1)


def test_hops_that_a_page_of_another_entity_tells_are_counted(data: Path, tmp_path: Path) -> None:
    split.divide(data, tmp_path / "out", 0)
    pages = {line["title"] for line in read_lines(tmp_path / "out" / "corpus.jsonl")}
    number = next(n for n in range(40, 50) if f"Film {n} (1999 film)" not in pages and f"Person {n}" in pages)
    lines = read_lines(data / split.CORPORA[0])
    for line in lines:
        if line["title"] == f"Person {number}":
            line["text"] = f"Person {number} directed Film {number}."
    write_lines(data / split.CORPORA[0], *lines)
    counts = split.divide(data, tmp_path / "out", 0)
    assert counts["hops told by triples, and by a gold page of another entity"] == 1


def test_a_hop_that_nothing_tells() -> None:
    assert split.kind([{"page"}, {"triples"}]) == "crossing"
    assert split.kind([{"page"}, {"page"}]) == "pages only"
    assert split.kind([{"page"}, set()]) == "untold"
    assert split.kind([]) == "untold"


def test_on_2wiki(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    if not (SHARED / split.QUESTIONS).exists():
        pytest.skip(f"{SHARED} is not here")
    assert split.main(["--data", str(SHARED), "--out", str(tmp_path)]) == 0
    counts = json.loads(capsys.readouterr().out)
    assert counts == json.loads((tmp_path / "split.json").read_text())
    assert counts["development questions"] == {"crossing": 58, "pages only": 20, "triples only": 22, "untold": 0}
