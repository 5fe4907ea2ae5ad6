"""The file of facts: resumed at the next page, never gone on with for something else."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from atomr_local.errors import InputError
from atomr_local.page_facts.extraction import PassageFact
from atomr_local.page_facts.fact_file import fact_file

ABOUT = {"text_index": "notes", "built_at": "then"}


def fact(value: str) -> PassageFact:
    return PassageFact("The Lake", "director", value, "p#0", f"Directed by {value}.", "phrase")


def values(path: Path) -> list[str]:
    return [json.loads(line)["o"] for line in path.read_text().splitlines()]


def test_it_goes_on_at_the_next_page(tmp_path: Path) -> None:
    path = tmp_path / "new" / "facts.jsonl"
    with fact_file(path, ABOUT) as file:
        file.add("one", [fact("Ann Lee")], commit=True)
    with fact_file(path, ABOUT) as file:
        assert (file.last, file.pages, file.counts) == ("one", 1, {"phrase": 1})
        file.add("two", [fact("Bob Poe")], commit=False)
    assert values(path) == ["Ann Lee", "Bob Poe"]
    assert path.stat().st_mode & 0o777 == 0o600, "it quotes what may be private"


def test_what_a_killed_run_had_not_committed_is_cut_off(tmp_path: Path) -> None:
    path = tmp_path / "facts.jsonl"
    with fact_file(path, ABOUT) as file:
        file.add("one", [fact("Ann Lee")], commit=True)
    with path.open("a") as stream:
        stream.write('{"s": "The Lake", "o": "torn')
    with fact_file(path, ABOUT) as file:
        assert file.last == "one"
    assert values(path) == ["Ann Lee"]


def test_facts_of_an_error_are_kept(tmp_path: Path) -> None:
    path = tmp_path / "facts.jsonl"
    with pytest.raises(KeyError), fact_file(path, ABOUT) as file:
        file.add("one", [fact("Ann Lee")], commit=False)
        raise KeyError
    with fact_file(path, ABOUT) as file:
        assert file.last == "one"


def test_another_index_is_refused_and_nothing_lost(tmp_path: Path) -> None:
    path = tmp_path / "facts.jsonl"
    with fact_file(path, ABOUT) as file:
        file.add("one", [fact("Ann Lee")], commit=True)
    with pytest.raises(InputError, match="another index") as told, fact_file(path, ABOUT | {"built_at": "now"}):
        pass
    assert "--again" in told.value.hint
    assert values(path) == ["Ann Lee"]
    with fact_file(path, ABOUT | {"built_at": "now"}, again=True) as file:
        assert (file.last, file.pages) == ("", 0)
    assert values(path) == []


@pytest.mark.parametrize("state", ["", "[]", '{"about": 1}', "{" * 10_000])
def test_a_file_that_is_not_ours_is_refused(tmp_path: Path, state: str) -> None:
    path = tmp_path / "facts.jsonl"
    path.write_text("my own notes\n")
    if state:
        path.with_name("facts.jsonl.progress").write_text(state)
    with pytest.raises(InputError, match="does not say how far"), fact_file(path, ABOUT):
        pass
    assert path.read_text() == "my own notes\n"


def test_a_directory_is_told(tmp_path: Path) -> None:
    with pytest.raises(InputError), fact_file(tmp_path, ABOUT):
        pass


def test_one_process_writes_at_a_time(tmp_path: Path) -> None:
    path = tmp_path / "facts.jsonl"
    with fact_file(path, ABOUT), pytest.raises(InputError, match="another process"), fact_file(path, ABOUT):
        pass
