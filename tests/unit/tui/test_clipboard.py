"""What is copied, and how it comes to the clipboard."""

from __future__ import annotations

import base64
import os
import re
import sys
import time
from pathlib import Path

import pytest
from support.quoting_traces import closest_trace, quotation_trace
from textual.app import App

from atomr_local.reasoning.trace.schema import EvidenceTrace, Guess, NodeTrace, Trace
from atomr_local.tui.clipboard import answer_text, clipboard_program, copy_text, evidence_text, sparql_text
from atomr_local.tui.question.correction import replay
from atomr_local.tui.question.state import QuestionState

HOSTILE = "\x1b]52;c;aGFja2Vk\x07\x9b31mtext\u202e\x00"
_FORBIDDEN = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]")
PLAN = '1. Where? = Search("Fritz Lang")\n'
QUERY = 'SELECT ?x WHERE { ?x ?p "a b" }'


def shown(**changed: object) -> QuestionState:
    """The state of a trace with two steps and three pieces of evidence."""
    fields: dict[str, object] = {
        "strategy": "atomr", "settings": {}, "status": "answered", "answer": "The answer is Vienna.",
        "answers": ["Vienna"], "confidence": 0.5,
        "nodes": [
            NodeTrace(0, None, "Where?", "root", answer="Vienna", cited=["e2", "e1", "gone"], evidence=["e2"]),
            NodeTrace(1, 0, "Where?", "search", answer="Vienna", evidence=["e1", "e2", "e3"]),
        ],
        "evidence": [
            EvidenceTrace("e1", "text", "Fritz Lang", "Born in Vienna.", 0.5, "q", {"passage": "lang#0"}),
            EvidenceTrace("e2", "graph", "Lang", "birth: Vienna", 1.0, "q", {"sparql": QUERY, "rows": [{"x": "Vienna"}]}),
            EvidenceTrace("e3", "web", "A page", "It is so.", 0.1, "q",
                          {"url": "https://example.org/a", "retrieved_at": "2026-01-02"}),
        ],
    }  # fmt: skip
    trace = Trace("Where was Fritz Lang born?", **(fields | changed))  # type: ignore[arg-type]
    trace.plan.compact = PLAN
    return replay(trace)


def test_the_answer_with_numbered_citations() -> None:
    assert answer_text(shown()) == (
        "Where was Fritz Lang born?\n\n"
        "The answer is Vienna. [1] [2] (not sure, confidence 0.50)\n\n"
        "[1] Lang (graph): birth: Vienna\n"
        "[2] Fritz Lang (text, passage lang#0): Born in Vienna.\n"
    )


def test_what_is_not_there_is_empty() -> None:
    assert answer_text(QuestionState(Trace("Who?", "", {}))) == ""
    assert answer_text(replay(Trace("Who?", "atomr", {}))) == ""
    assert evidence_text(shown(), "e9") == ""
    assert sparql_text(shown(), 7) == ""
    assert sparql_text(shown(evidence=[]), 1) == ""


def test_an_unknown_answer_cites_nothing_and_the_models_own_is_told() -> None:
    assert "[1]" not in answer_text(shown(status="unknown"))
    assert "no evidence supports it" in answer_text(shown(basis="model"))


def test_why_it_was_declined_and_the_guess_apart() -> None:
    declined = shown(status="unknown", answer="", answers=[], reason="Nothing says so.", guess=Guess(["Vienna"], 0.4))
    assert answer_text(declined).endswith(
        "Not found: Nothing says so.\nA guess, not an answer: Vienna (not sure, confidence 0.40)\n"
    )


def test_evidence_with_its_place_query_and_rows() -> None:
    assert evidence_text(shown(), "e1") == "Fritz Lang (text, passage lang#0)\nBorn in Vienna.\n"
    graph = evidence_text(shown(), "e2")
    assert graph.startswith("Lang (graph)\nbirth: Vienna\n\nSELECT ?x")
    assert graph.endswith("\nx: Vienna\n")
    assert "https://example.org/a, retrieved 2026-01-02" in evidence_text(shown(), "e3")


def test_each_query_of_a_step_once() -> None:
    graph = EvidenceTrace("e2", "graph", "", "", 1.0, "q", {"sparql": QUERY})
    same = EvidenceTrace("e1", "graph", "", "", 1.0, "q", {"sparql": QUERY})
    other = EvidenceTrace("e3", "graph", "", "", 1.0, "q", {"sparql": "ASK { ?s ?p 1 }"})
    text = sparql_text(shown(evidence=[graph, same, other]), 1)
    assert text.count("SELECT") == 1
    assert text.count("ASK") == 1
    assert '"a b"' in text


def test_hostile_text_is_copied_clean() -> None:
    piece = EvidenceTrace("e1", "web", HOSTILE, HOSTILE, 0.5, HOSTILE,
                          {"passage": HOSTILE, "url": HOSTILE, "sparql": HOSTILE, "rows": [{HOSTILE: HOSTILE}, 3]})  # fmt: skip
    bad = shown(evidence=[piece], answer=HOSTILE)
    bad.question = HOSTILE
    for text in (answer_text(bad), evidence_text(bad, "e1"), sparql_text(bad, 1)):
        assert "text" in text
        assert not _FORBIDDEN.search(text)


@pytest.mark.parametrize(
    ("names", "environment", "platform", "chosen"),
    [
        (["wl-copy", "xclip"], {"WAYLAND_DISPLAY": "w"}, "linux", "wl-copy"),
        (["xclip", "xsel"], {"DISPLAY": ":0"}, "linux", "xclip"),
        (["xsel"], {"DISPLAY": ":0", "WAYLAND_DISPLAY": "w"}, "linux", "xsel"),
        (["wl-copy", "xclip", "xsel", "pbcopy"], {}, "linux", None),  # no display
        (["pbcopy"], {}, "darwin", "pbcopy"),
        ([], {"DISPLAY": ":0"}, "linux", None),
    ],
)
def test_a_program_is_chosen_only_where_there_is_a_display(
    names: list[str], environment: dict[str, str], platform: str, chosen: str | None, tmp_path: Path
) -> None:
    for name in names:
        (tmp_path / name).write_text("#!/bin/sh\n")
        (tmp_path / name).chmod(0o755)
    command = clipboard_program(environment | {"PATH": str(tmp_path)}, platform=platform)
    assert (command and Path(command[0]).name) == chosen


class Recorder(App[None]):
    pass


def program(directory: Path, script: str) -> None:
    file = directory / "xclip"
    file.write_text(f"#!/bin/sh\n{script}\n")
    file.chmod(0o755)


@pytest.fixture
def display(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.delenv("WAYLAND_DISPLAY", raising=False)
    monkeypatch.setenv("DISPLAY", ":0")
    monkeypatch.setenv("PATH", f"{tmp_path}{os.pathsep}{os.environ['PATH']}")
    monkeypatch.setattr("atomr_local.tui.clipboard._PATIENCE", 20.0)
    return tmp_path


async def test_text_goes_clean_to_the_terminal_and_the_program(display: Path) -> None:
    program(display, f"cat > {display}/taken")
    app = Recorder()
    async with app.run_test():
        written: list[str] = []
        app._driver.write = written.append  # type: ignore[union-attr, method-assign]
        assert copy_text(app, f"naïve {HOSTILE}") == "Copied."
    assert (display / "taken").read_text() == "naïve text"
    assert written == [f"\x1b]52;c;{base64.b64encode('naïve text'.encode()).decode()}\a"]


@pytest.mark.parametrize("script", ["exit 1", "echo noise; echo noise >&2; exit 3"])
async def test_a_program_that_fails_leaves_the_terminal(display: Path, script: str) -> None:
    program(display, script)
    app = Recorder()
    async with app.run_test():
        assert "Given to the terminal." in copy_text(app, "text")
        assert "may refuse" in copy_text(app, "x" * 100_000)
        assert copy_text(app, " \x1b[2J ") == "There is nothing to copy."
        assert app.clipboard == "x" * 100_000


async def test_a_program_that_hangs_is_not_waited_for_and_ended(display: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("atomr_local.tui.clipboard._PATIENCE", 0.01)
    monkeypatch.setattr("atomr_local.tui.clipboard._LIMIT", 0.1)
    ended: list[int] = []
    program(display, "exec sleep 600")
    app = Recorder()
    import atomr_local.tui.clipboard as clipboard

    after = clipboard._ended

    def watched(process: object) -> None:
        after(process)  # type: ignore[arg-type]
        ended.append(process.returncode)  # type: ignore[attr-defined]

    monkeypatch.setattr(clipboard, "_ended", watched)
    async with app.run_test() as pilot:
        assert copy_text(app, "text") == "Given to xclip and the terminal."
        deadline = time.monotonic() + 120
        while not ended and time.monotonic() < deadline:
            await pilot.pause(0.01)
    assert ended == [-9]


@pytest.mark.skipif(sys.platform == "win32", reason="modes of files")
async def test_a_program_that_cannot_be_started_leaves_the_terminal(display: Path) -> None:
    (display / "xclip").write_bytes(b"\x7fELF no program")
    (display / "xclip").chmod(0o755)
    app = Recorder()
    async with app.run_test():
        assert "Given to the terminal." in copy_text(app, "text")


def test_the_closest_passages_are_copied_and_a_quotation_keeps_its_lines() -> None:
    assert "Not answered; closest in your documents\n  Permits (permits.pdf, p. 4, Fees)\n" in answer_text(
        replay(closest_trace())
    )
    assert "Bring the following:\npassport\ntwo photos [1]" in answer_text(replay(quotation_trace()))
