from __future__ import annotations

import os
from pathlib import Path

import pytest

from atomr_local.indexing.foreign_errors import PANIC_MESSAGE, library_line, standard_error_without

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


PANIC = b"""
thread 'lancedb-tokio-worker' (31186) panicked at /src/lance-encoding-13.0.0/src/primitive.rs:690:33:
range end index 10 out of range for slice of length 8
stack backtrace:
note: Some details are omitted, run with `RUST_BACKTRACE=full` for a verbose backtrace.
"""
BARE = b"thread '<unnamed>' panicked at src/a.rs:1:2:\nindex out of bounds\n"


@pytest.mark.parametrize("written", [PANIC, PANIC * 3, BARE, BARE + PANIC], ids=["noted", "thrice", "bare", "both"])
def test_what_rust_writes_of_a_panic_stays_off_the_terminal(written: bytes, capfd: pytest.CaptureFixture[str]) -> None:
    with standard_error_without(PANIC_MESSAGE):
        os.write(2, b"before\n" + written + b"after\n")
    assert capfd.readouterr().err == "before\nafter\n"


def test_everything_else_is_written_when_the_block_ends(capfd: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(RuntimeError), standard_error_without(PANIC_MESSAGE):
        os.write(2, b"note: something\nthread of a story\n")
        raise RuntimeError
    assert capfd.readouterr().err == "note: something\nthread of a story\n"
