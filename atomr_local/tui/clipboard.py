"""Copying: the answer with its citations, evidence, SPARQL, as plain text, to the system's clipboard."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
import threading
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from atomr_local.reasoning.confidence.words import NOT_FOUND, confidence_text
from atomr_local.sanitize import sanitize, sanitize_line
from atomr_local.tui.rendering.sparql import formatted

if TYPE_CHECKING:
    from textual.app import App

    from atomr_local.reasoning.trace.schema import EvidenceTrace, Trace
    from atomr_local.sources.protocol import Evidence
    from atomr_local.tui.question.state import QuestionState

_PATIENCE = 0.04  # seconds that the screen waits for a program that takes the text; most need half of it
_LIMIT = 5.0  # seconds after which it is ended
# What several terminals take in one OSC 52 sequence at most, in bytes before base64; longer ones are dropped unsaid.
_TERMINAL_TAKES = 74_000
_ROWS = 50


def copy_text(app: App[Any], text: str) -> str:
    """Copy to the clipboard; gives in words how it went.

    The terminal is asked with OSC 52, which reaches the user's own machine over SSH too but is never confirmed; where
    there is a display, a program of the system is asked as well. It may be called from a handler: a program that is not
    quick is not waited for, and ended when it takes too long.
    """
    clean = sanitize(text)
    if not clean.strip():
        return "There is nothing to copy."
    app.copy_to_clipboard(clean)
    command = clipboard_program()
    taken = _given(command, clean) if command is not None else False
    if taken:
        return "Copied."
    if taken is None and command is not None:
        return f"Given to {Path(command[0]).name} and the terminal."
    if len(clean.encode("utf-8", "replace")) > _TERMINAL_TAKES:
        return "Given to the terminal, which may refuse so long a text. Export writes it to a file."
    return "Given to the terminal. If it is not in the clipboard, the terminal does not allow copying (OSC 52)."


def clipboard_program(
    environment: Mapping[str, str] | None = None, *, platform: str = sys.platform
) -> list[str] | None:
    """The command that puts its input in the clipboard; None where there is no display, or no such program."""
    env = os.environ if environment is None else environment
    candidates: list[list[str]] = []
    if platform == "darwin":
        candidates.append(["pbcopy"])
    if env.get("WAYLAND_DISPLAY"):
        candidates.append(["wl-copy", "--type", "text/plain;charset=utf-8"])
    if env.get("DISPLAY"):
        candidates += [["xclip", "-in", "-selection", "clipboard"], ["xsel", "--clipboard", "--input"]]
    for name, *arguments in candidates:
        program = shutil.which(name, path=env.get("PATH"))
        if program is not None:
            return [program, *arguments]
    return None


def _given(command: list[str], text: str) -> bool | None:
    """Whether the program took the text; None while it is still at it."""
    # The programs stay behind to serve the text: their output must not hold us, nor appear on the screen. They read
    # from a file, since a pipe that is not emptied would hold us too.
    try:
        with tempfile.TemporaryFile() as stream:
            stream.write(text.encode("utf-8", "replace"))
            stream.seek(0)
            process = subprocess.Popen(
                command, stdin=stream, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, start_new_session=True
            )
    except OSError:
        return False
    try:
        return process.wait(_PATIENCE) == 0
    except subprocess.TimeoutExpired:
        threading.Thread(target=_ended, args=(process,), daemon=True).start()
        return None


def _ended(process: subprocess.Popen[bytes]) -> None:
    try:
        process.wait(_LIMIT)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()


def answer_text(shown: Trace | QuestionState) -> str:
    """Question, answer and numbered citations with their places; empty while there is no answer."""
    pieces = _pieces(shown)
    answer, confidence, basis, cited = _answer(shown)
    if not answer:
        return _declined(shown)
    found = [pieces[name] for name in dict.fromkeys(cited) if name in pieces]
    numbers = "".join(f" [{number}]" for number in range(1, len(found) + 1))
    sure = "" if confidence is None else f" ({confidence_text(confidence)})"
    lines = [*_question(shown), "", f"{sanitize(answer)}{numbers}{sure}"]
    if basis == "model":
        lines.append("From the model's own knowledge: no evidence supports it.")
    if found:
        lines.append("")
        lines += [f"[{number}] {_one_line(piece)}" for number, piece in enumerate(found, 1)]
    return "\n".join(lines) + "\n"


def _question(shown: Trace | QuestionState) -> list[str]:
    """The question, and how it was understood where that is not what was typed."""
    typed, meant = sanitize_line(shown.question), sanitize_line(shown.understood_as)
    return [typed, f"(understood as: {meant})"] if meant and meant != typed else [typed]


def _declined(shown: Trace | QuestionState) -> str:
    """Why the question was declined, and the guess apart; empty where it was not."""
    told = shown if isinstance(shown.answer, str) else shown.answer
    if told is None or not told.reason:
        return ""
    lines = [*_question(shown), "", f"{NOT_FOUND.capitalize()}: {sanitize_line(told.reason)}"]
    if told.guess is not None:
        sure = confidence_text(told.guess.confidence)
        lines.append(f"A guess, not an answer: {sanitize_line(told.guess.text)}{f' ({sure})' if sure else ''}")
    return "\n".join(lines) + "\n"


def evidence_text(shown: Trace | QuestionState, evidence_id: str) -> str:
    """The piece with its title, source and place, its text, and its query with rows; empty where there is none."""
    piece = _pieces(shown).get(evidence_id)
    return f"{_whole(piece)}\n" if piece is not None else ""


def sparql_text(shown: Trace | QuestionState, node_id: int) -> str:
    """The graph queries of the node's evidence, each once, laid out; empty where there are none."""
    pieces = _pieces(shown)
    if isinstance(shown.nodes, dict):
        names = shown.nodes[node_id].evidence if node_id in shown.nodes else []
    else:
        names = [name for node in shown.nodes if node.id == node_id for name in node.evidence]
    queries = dict.fromkeys(_query(pieces[name]) for name in names if name in pieces)
    return "".join(f"{query}\n\n" for query in queries if query)[:-1]


def _query(piece: EvidenceTrace | Evidence) -> str:
    return formatted(str(piece.locator.get("sparql") or ""))


def _pieces(shown: Trace | QuestionState) -> Mapping[str, EvidenceTrace | Evidence]:
    if isinstance(shown.evidence, dict):
        return shown.evidence
    return {item.id: item for item in shown.evidence}


def _answer(shown: Trace | QuestionState) -> tuple[str, float | None, str, Iterable[str]]:
    if isinstance(shown.nodes, dict):
        ready, root = shown.answer, shown.nodes.get(0)
        if ready is None or isinstance(ready, str):
            return "", None, "evidence", ()
        result = root.result if root is not None else None
        cited: Iterable[str] = result.cited if result is not None and ready.status == "answered" else ()
        return ready.answer, ready.confidence, ready.basis if ready.answers else "evidence", cited
    assert isinstance(shown.answer, str)
    top = next((node for node in shown.nodes if node.parent is None), None)
    cited = top.cited if top is not None and shown.status == "answered" else ()
    return shown.answer, shown.confidence, shown.basis if shown.answers else "evidence", cited


def _one_line(piece: EvidenceTrace | Evidence) -> str:
    return f"{sanitize_line(piece.title) or '—'} ({', '.join(_places(piece))}): {sanitize_line(piece.text)}"


def _whole(piece: EvidenceTrace | Evidence) -> str:
    lines = [f"{sanitize_line(piece.title) or '—'} ({', '.join(_places(piece))})", sanitize(piece.text)]
    query = _query(piece)
    if query:
        lines += ["", query]
    rows = [row for row in piece.locator.get("rows") or () if isinstance(row, Mapping)]
    lines += [sanitize_line(", ".join(f"{key}: {value}" for key, value in row.items())) for row in rows[:_ROWS]]
    if len(rows) > _ROWS:
        lines.append(f"and {len(rows) - _ROWS} more rows")
    return "\n".join(lines)


def _places(piece: EvidenceTrace | Evidence) -> list[str]:
    locator = piece.locator
    places = [sanitize_line(str(piece.source))]
    if "passage" in locator:
        places.append(f"passage {sanitize_line(str(locator['passage']))}")
    if locator.get("section"):
        places.append(f"section {sanitize_line(str(locator['section']))}")
    if locator.get("url"):
        places.append(sanitize_line(str(locator["url"])))
    if locator.get("retrieved_at"):
        places.append(f"retrieved {sanitize_line(str(locator['retrieved_at']))}")
    return places
