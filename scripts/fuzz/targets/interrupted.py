"""The note of a question whose program has died: whatever is in the file, the question is kept or there is none."""

from __future__ import annotations

from collections.abc import Iterator

from atomr_local.assistant.history import pending
from atomr_local.assistant.history.trace_import import parse_trace
from fuzz.properties import expect, repeated

INSTRUMENTED = ("atomr_local.assistant.history",)
DICTIONARY = (
    b'{"question": "', b'"strategy": "atomr"', b'"asked_at": "2026-11-22T09:00:00+00:00"', b'{"reason": "', b'{"digest": "',
    b"\n", b"null", b"{", b"}", b"[", b"]", b"\\ud800", b"\\u0000", b"\\u001b[31m", b"9999-12-31T23:59:59-23:59",
    b"0001-01-01T00:00:00+23:59", b"\xff",
)  # fmt: skip


def seeds() -> Iterator[bytes]:
    yield b'{"question": "Who?", "strategy": "atomr", "asked_at": "2026-11-22T09:00:00+00:00"}\n{"reason": "SIGSEGV"}\n'
    yield b'{"question": "Who?"}\n{"digest": "ab"}\n'
    yield repeated(b"[", 20_000, head=b'{"question": ')


def check(data: bytes) -> None:
    found = pending._read(data)
    expect(all(isinstance(key, str) and isinstance(value, str) for key, value in found.items()), "texts by name", found)
    if "question" not in found:
        return
    trace, asked_at = pending._interrupted(found)
    expect(parse_trace(trace.to_dict()).question == trace.question, "what is kept can be read again", found)
    if asked_at is not None:
        asked_at.astimezone().isoformat()
