"""What clients are told holds no path of the machine, and loses nothing else."""

from __future__ import annotations

from pathlib import Path

import pytest

from atomr_local.server.serving import without_paths, without_paths_in


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("/usr/share/models/small.gguf does not exist", "small.gguf does not exist"),
        ("'/etc/passwd' and \"/usr/lib/\" cannot be read", "'passwd' and \"lib\" cannot be read"),
        ("see file:///usr/share/doc/a.txt", "see a.txt"),
        ("/usr/lib/x.so:17: (/usr/lib/y.so)", "x.so:17: (y.so)"),
        ("/usr is full", "usr is full"),
        ("model:/usr/lib/m.gguf", "model:/usr/lib/m.gguf"),  # no path begins behind a colon: it may be an address
        ("GET /api/traces lists those that are kept", "GET /api/traces lists those that are kept"),
        ("/openapi.json describes what there is", "/openapi.json describes what there is"),
        ("https://example.org/usr/lib/a and and/or 1/2", "https://example.org/usr/lib/a and and/or 1/2"),
        ("AC/DC; ~/.config; ../usr/lib", "AC/DC; ~/.config; ../usr/lib"),
        ("", ""),
    ],
)
def test_only_paths_of_this_machine_are_shortened(text: str, told: str) -> None:
    assert without_paths(text) == told


def test_folders_of_the_user_and_the_program_are_left_out_whatever_they_are_named(
    own_home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    home = tmp_path / "Ann Lee's home"
    home.mkdir()
    monkeypatch.setenv("HOME", str(home))
    told = without_paths(f"{home}/my notes/a b.pdf cannot be read; {home} is full; {own_home}/indexes/text/mine")
    assert told == "my notes/a b.pdf cannot be read; Ann Lee's home is full; indexes/text/mine"


def test_a_folder_that_is_gone_is_no_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = tmp_path / "gone"
    folder.mkdir()
    monkeypatch.chdir(folder)
    folder.rmdir()
    assert without_paths("/usr/lib/a") == "a"


def test_what_was_found_stays_as_it_is() -> None:
    path = "/usr/lib/a"
    given = {
        "question": path, "warnings": [path], "evidence": [{"text": path, "title": path}],
        "nodes": [{"answer": path, "error": {"title": "x", "message": path}, "seconds": 1.5}, None], "error": None,
        "message": path,
    }  # fmt: skip
    told = without_paths_in(given)
    assert told["warnings"] == ["a"] and told["message"] == "a" and told["nodes"][0]["error"]["message"] == "a"
    assert told["question"] == told["nodes"][0]["answer"] == path
    assert told["evidence"] == given["evidence"] and told["nodes"][1] is None and told["error"] is None
