from __future__ import annotations

from pathlib import Path

import pytest

from atomr_local.indexing.foreign_errors import library_line

HOME = Path("/home/me/indexes/text/mine")
RUST = "/root/.cargo/registry/src/index.crates.io-1949cf8c6b5b557f/lance-io-13.0.0/src/local.rs:273:40"
CORE = "/rustc/2d8144b7880597b6e6d3dfd63a9a9efae3f533d3/library/core/src/result.rs:1896:29"


@pytest.mark.parametrize(
    ("text", "line"),
    [
        (f"lance error: Not found: {HOME}/passages.lance/data/a.lance, {RUST}", "Not found: passages.lance/data/a.lance"),
        (f"lance error: Not found: {str(HOME)[1:]}/passages.lance, {RUST}", "Not found: passages.lance"),
        (f"lance error: LanceError(IO): Generic N/A error: Wrapped error: Not found: Wrapped error: Not found: {HOME}/x, "
         f"{CORE}, {RUST}", "Not found: x"),
        (f"LanceError(IO): Generic memory error: Invalid range 0..7 for object of size 3 bytes, {CORE}",
         "Invalid range 0..7 for object of size 3 bytes"),
        ("file is not a database", "file is not a database"),
        ("first\nsecond", "first"),
        ("", "RuntimeError"),
        (f"lance error: , {RUST}", "RuntimeError"),
        ("x" * 900, "x" * 300),
        ("/data/notes.rs is no dump", "/data/notes.rs is no dump"),
    ],
)  # fmt: skip
def test_what_a_library_says_is_cut_down_to_what_helps(text: str, line: str) -> None:
    assert library_line(RuntimeError(text), HOME) == line


def test_without_a_directory_files_keep_their_place() -> None:
    assert library_line(RuntimeError(f"lance error: Not found: {HOME}/x, {RUST}")) == f"Not found: {HOME}/x"
