"""Copies the answer with its citations, evidence and SPARQL to the clipboard."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
import threading
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from atomr_local.reasoning.confidence.words import NOT_FOUND, confidence_text
from atomr_local.reasoning.trace.words import OWN
from atomr_local.sanitize import sanitize, sanitize_line
from atomr_local.tui.rendering import formatted

if TYPE_CHECKING:
    from textual.app import App

    from atomr_local.reasoning.trace.events import AnswerReady
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
    """The command that puts its input in the clipboard; None if there is no display, or no such program."""
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


def answer_text(state: QuestionState) -> str:
    """Question, answer and numbered citations with their places; empty while there is no answer."""
    ready, root = state.answer, state.nodes.get(0)
    if ready is None:
        return ""
    if not ready.answer:
        return _declined(state, ready)
    cited = root.result.cited if root is not None and root.result is not None and ready.status == "answered" else ()
    found = [state.evidence[name] for name in dict.fromkeys(cited) if name in state.evidence]
    numbers = "".join(f" [{number}]" for number in range(1, len(found) + 1))
    sure = OWN if root is not None and root.by_user else confidence_text(ready.confidence)
    lines = [*_question(state), "", f"{sanitize(ready.answer)}{numbers}{f' ({sure})' if sure else ''}"]
    if ready.basis == "model" and ready.answers:
        lines.append("From the model's own knowledge: no evidence supports it.")
    if found:
        lines.append("")
        lines += [f"[{number}] {_one_line(piece)}" for number, piece in enumerate(found, 1)]
    return "\n".join(lines) + "\n"


def _question(state: QuestionState) -> list[str]:
    """The question, and how it was understood where that is not what was typed."""
    typed, meant = sanitize_line(state.question), sanitize_line(state.understood_as)
    return [typed, f"(understood as: {meant})"] if meant and meant != typed else [typed]


def _declined(state: QuestionState, ready: AnswerReady) -> str:
    """Why the question was declined, and the guess apart; empty if it was not."""
    if not ready.reason:
        return ""
    lines = [*_question(state), "", f"{NOT_FOUND.capitalize()}: {sanitize_line(ready.reason)}"]
    if ready.guess is not None:
        sure = confidence_text(ready.guess.confidence)
        lines.append(f"A guess, not an answer: {sanitize_line(ready.guess.text)}{f' ({sure})' if sure else ''}")
    return "\n".join(lines) + "\n"


def evidence_text(state: QuestionState, evidence_id: str) -> str:
    """The piece with its title, source and place, its text, and its query with rows; empty if there is none."""
    piece = state.evidence.get(evidence_id)
    return f"{_whole(piece)}\n" if piece is not None else ""


def sparql_text(state: QuestionState, node_id: int) -> str:
    """The graph queries of the node's evidence, each once, laid out; empty if there are none."""
    names = state.nodes[node_id].evidence if node_id in state.nodes else []
    queries = dict.fromkeys(_query(state.evidence[name]) for name in names if name in state.evidence)
    return "".join(f"{query}\n\n" for query in queries if query)[:-1]


def _query(piece: Evidence) -> str:
    return formatted(str(piece.locator.get("sparql") or ""))


def _one_line(piece: Evidence) -> str:
    return f"{sanitize_line(piece.title) or '—'} ({', '.join(_places(piece))}): {sanitize_line(piece.text)}"


def _whole(piece: Evidence) -> str:
    lines = [f"{sanitize_line(piece.title) or '—'} ({', '.join(_places(piece))})", sanitize(piece.text)]
    query = _query(piece)
    if query:
        lines += ["", query]
    rows = [row for row in piece.locator.get("rows") or () if isinstance(row, Mapping)]
    lines += [sanitize_line(", ".join(f"{key}: {value}" for key, value in row.items())) for row in rows[:_ROWS]]
    if len(rows) > _ROWS:
        lines.append(f"and {len(rows) - _ROWS} more rows")
    return "\n".join(lines)


def _places(piece: Evidence) -> list[str]:
    locator = piece.locator
    places = [sanitize_line(str(piece.source))]
    if locator.get("index"):
        places.append(f"index {sanitize_line(str(locator['index']))}")
    if "passage" in locator:
        places.append(f"passage {sanitize_line(str(locator['passage']))}")
    if locator.get("section"):
        places.append(f"section {sanitize_line(str(locator['section']))}")
    if locator.get("url"):
        places.append(sanitize_line(str(locator["url"])))
    if locator.get("retrieved_at"):
        places.append(f"retrieved {sanitize_line(str(locator['retrieved_at']))}")
    return places
