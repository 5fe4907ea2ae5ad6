"""Opens a file of the user's documents at its place, with a program of the system, and never runs it.

Documents come from anywhere: what a system would run when it is opened, such as a script, a program or a shortcut,
is shown in its folder instead.
"""

from __future__ import annotations

import os
import shlex
import shutil
import subprocess
import sys
import tempfile
import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO

from atomr_local.reasoning.confidence import NOT_FOUND, confidence_text
from atomr_local.reasoning.trace.telling import GUESS, OWN, passages_of, pieces, places, understood
from atomr_local.sources.document_places import file_path, made_elsewhere, page_at
from atomr_local.system.sanitize import sanitize, sanitize_line
from atomr_local.tui.rendering import formatted

if TYPE_CHECKING:
    from textual.app import App

    from atomr_local.reasoning.trace.schema import Trace
    from atomr_local.sources.protocol import Evidence
    from atomr_local.tui.question.state import QuestionState


# Copies the answer with its citations, evidence and SPARQL to the clipboard.

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
        return _declined(ready)
    cited = root.result.cited if root is not None and root.result is not None and ready.status == "answered" else ()
    found = pieces(ready, dict.fromkeys(cited))
    numbers = "".join(f" [{number}]" for number in range(1, len(found) + 1))
    sure = OWN if root is not None and root.by_user else confidence_text(ready.confidence)
    lines = [*_question(ready), "", f"{sanitize(ready.answer)}{numbers}{f' ({sure})' if sure else ''}"]
    if ready.basis == "model" and ready.answers:
        lines.append("From the model's own knowledge: no evidence supports it.")
    if found:
        lines.append("")
        lines += [f"[{number}] {_one_line(piece)}" for number, piece in enumerate(found, 1)]
    return "\n".join(lines) + "\n"


def _question(trace: Trace) -> list[str]:
    """The question, and how it was understood where that is not what was typed."""
    meant = understood(trace)
    return [sanitize_line(trace.question), *([f"(understood as: {meant})"] if meant else [])]


def _declined(ready: Trace) -> str:
    """Why the question was declined, and the guess apart; empty if it was not."""
    if not ready.reason:
        return ""
    lines = [*_question(ready), "", f"{NOT_FOUND.capitalize()}: {sanitize_line(ready.reason)}"]
    if ready.guess is not None:
        sure = confidence_text(ready.guess.confidence)
        lines.append(f"{GUESS}: {sanitize_line(ready.guess.text)}{f' ({sure})' if sure else ''}")
    heading, near = passages_of(ready)
    lines += ["", heading] if near else []
    for passage in near:
        lines += [f"  {passage.source}", *(f"    {line}" for line in passage.lines)]
    return "\n".join(lines) + "\n"


def evidence_text(state: QuestionState, evidence_id: str) -> str:
    """The piece with its title, source and place, its text, and its query with rows; empty if there is none."""
    piece = state.evidence.get(evidence_id)
    return f"{_whole(piece)}\n" if piece is not None else ""


def sparql_text(state: QuestionState, node_id: int) -> str:
    """The graph queries of the node's evidence, each once, laid out; empty if there are none."""
    names = state.nodes[node_id].step.evidence if node_id in state.nodes else []
    queries = dict.fromkeys(map(_query, pieces(state.record, names)))
    return "".join(f"{query}\n\n" for query in queries if query)[:-1]


def _query(piece: Evidence) -> str:
    return formatted(str(piece.locator.get("sparql") or ""))


def _one_line(piece: Evidence) -> str:
    return f"{_titled(piece)}: {sanitize_line(piece.text)}"


def _whole(piece: Evidence) -> str:
    lines = [_titled(piece), sanitize(piece.text)]
    query = _query(piece)
    if query:
        lines += ["", query]
    rows = [row for row in piece.locator.get("rows") or () if isinstance(row, Mapping)]
    lines += [sanitize_line(", ".join(f"{key}: {value}" for key, value in row.items())) for row in rows[:_ROWS]]
    if len(rows) > _ROWS:
        lines.append(f"and {len(rows) - _ROWS} more rows")
    return "\n".join(lines)


def _titled(piece: Evidence) -> str:
    """Title, source and places of the piece."""
    where = (f"{lead}{sanitize_line(place)}" for lead, place in places(piece) if lead != "characters ")
    return f"{sanitize_line(piece.title) or '—'} ({', '.join((sanitize_line(str(piece.source)), *where))})"


# What a system may run, by the ends of names; what else can be run is told by its permissions and first bytes.
_RUN = frozenset({
    ".desktop", ".appimage", ".run", ".sh", ".bash", ".zsh", ".fish", ".csh", ".ksh", ".command", ".tool",
    ".workflow", ".action", ".terminal", ".scpt", ".scptd", ".applescript", ".app", ".pkg", ".exe", ".com", ".bat",
    ".cmd", ".msi", ".scr", ".pif", ".lnk", ".url", ".webloc", ".inetloc", ".fileloc", ".reg", ".hta", ".vbs",
    ".vbe", ".js", ".jse", ".wsf", ".wsh", ".ps", ".psm", ".jar", ".jnlp", ".py", ".pyw", ".pyc", ".pl", ".rb",
    ".php", ".lua", ".tcl", ".r", ".awk", ".deb", ".rpm", ".flatpakref", ".service", ".so", ".dll", ".dylib", ".ko",
})  # fmt: skip
_RUN_BY_CONTENT = (b"#!", b"\x7fELF", b"\xca\xfe\xba\xbe", b"\xcf\xfa\xed\xfe", b"\xce\xfa\xed\xfe")
_SHORTCUT = b"[desktop entry]"
_HEAD = 256
# Told by their content, and opened by programs that only show them, whatever their permissions.
_SHOWN = frozenset({"pdf", "docx", "pptx", "xlsx", "epub", "opendocument", "rtf"})
# PDF programs that take a page, by the names of their desktop files and of themselves: their options for it.
_PDF_PROGRAMS: Mapping[str, Sequence[str]] = {
    "evince": ("--page-index={page}",),
    "papers": ("--page-index={page}",),
    "atril": ("--page-index={page}",),
    "xreader": ("--page-index={page}",),
    "okular": ("-p", "{page}"),
    "zathura": ("-P", "{page}"),
}
_BROWSERS = frozenset(
    {"firefox", "firefox-esr", "chromium", "chromium-browser", "google-chrome", "brave-browser", "microsoft-edge"}
)
# Editors that take a line, and how; "{file}:{line}" stands for the file.
_EDITORS: Mapping[str, Sequence[str]] = {
    **dict.fromkeys(("vi", "vim", "nvim", "view", "nano", "pico", "emacs", "emacsclient", "micro", "joe", "mg", "ne",
                     "kak", "less", "gedit", "gvim"), ("+{line}", "{file}")),
    **dict.fromkeys(("code", "codium", "code-insiders"), ("--goto", "{file}:{line}")),
    **dict.fromkeys(("hx", "helix", "subl", "zed"), ("{file}:{line}",)),
    "kate": ("-l", "{line}", "{file}"),
    "mate": ("-l", "{line}", "{file}"),
}  # fmt: skip
Which = Callable[[str], str | None]


@dataclass(frozen=True)
class Opening:
    """How a file is opened.

    Attributes:
        command: the program and its arguments; () where there is none.
        told: what the user is told before: with what, and at which place.
        refused: why the file is not opened; the command, if there is one, shows it in its folder.
        in_terminal: the program needs the terminal.
    """

    command: tuple[str, ...]
    told: str
    refused: str = ""
    in_terminal: bool = False


def missing_reason(locator: Mapping[str, Any]) -> str:
    """Why the file of this evidence cannot be opened; "" if it is there."""
    if file_path(locator) is not None:
        return ""
    if made_elsewhere(locator):
        return "The file is not on this machine: the index was made on another one."
    return "The file is not in its folder any more. `atomr text sync` takes that into the index."


def opening_of(
    locator: Mapping[str, Any],
    at: int = 0,
    *,
    environment: Mapping[str, str] = os.environ,
    which: Which = shutil.which,
    platform: str = sys.platform,
    default_program: Callable[[str], str] | None = None,
) -> Opening | None:
    """How to open the file of this evidence; None where it is not there.

    Args:
        at: the offset in the evidence's text of what is to be seen; it may reach over several pages.
        default_program: gives the desktop file that opens a type of files.
    """
    path = file_path(locator)
    if path is None:
        return None
    if reason := run_reason(path):
        shown = _shown_in_folder(path, which, platform)
        told = "It is shown in its folder instead." if shown else "Open it yourself if you trust it."
        return Opening(shown, told, refused=f"{reason}, so it is not opened from here.")
    file, line, page = str(path), _first(locator.get("line")), page_at(locator, at)
    if line is not None and (found := _editor(file, line, environment, which)):
        return found
    if page is not None and (found := _pdf_program(path, page, which, default_program or _default_program)):
        return found
    opener = which("open" if platform == "darwin" else "xdg-open")
    if not opener:
        return Opening((), "There is no program here that opens files (xdg-open).", refused="It cannot be opened.")
    return Opening((opener, file), f"With the program of the system for such files{_go_to(locator, page)}.")


def run_reason(path: Path) -> str:
    """Why a system might run the file when it is opened; "" of a document."""
    suffix = path.suffix.casefold()
    if suffix in _RUN:
        return f"A file {suffix} may be run when it is opened"
    try:
        with path.open("rb") as stream:
            head = stream.read(_HEAD)
            stream.seek(0)
            executable = bool(os.fstat(stream.fileno()).st_mode & 0o111)
            if executable and _kind(stream, path.name) not in _SHOWN:
                return "The file may be executed"
    except OSError:
        return "The file cannot be read"
    program = head.startswith(_RUN_BY_CONTENT) or (head.startswith(b"MZ") and b"\0" in head)
    return "The file is a program, a script or a shortcut" if program or _SHORTCUT in head.lower() else ""


def _kind(stream: BinaryIO, name: str) -> str:
    from atomr_local.indexing.readers.documents.document import UnreadableError
    from atomr_local.indexing.readers.documents.kinds import document_kind

    try:
        return document_kind(stream, name)
    except UnreadableError:
        return ""


def start(opening: Opening) -> str:
    """Start the program; the error in words, "" if it started.

    It gets nothing of the terminal, and goes on when this program ends.
    """
    try:
        subprocess.Popen(
            opening.command,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        )
    except OSError as error:
        return f"{opening.command[0]} cannot be started: {error.strerror or error}"
    return ""


def run_here(opening: Opening) -> str:
    """Run the program in the terminal until it ends; the error in words, "" if it ran."""
    try:
        subprocess.run(opening.command, check=False)
    except OSError as error:
        return f"{opening.command[0]} cannot be started: {error.strerror or error}"
    return ""


def _editor(file: str, line: int, environment: Mapping[str, str], which: Which) -> Opening | None:
    """The user's editor at the line; None where none is named that takes one."""
    for variable in ("VISUAL", "EDITOR"):
        try:
            words = shlex.split(environment.get(variable, ""))
        except ValueError:
            continue
        name = Path(words[0]).name if words else ""
        if name in _EDITORS and (program := which(words[0])):
            place = (word.format(file=file, line=line) for word in _EDITORS[name])
            return Opening((program, *words[1:], *place), f"With {name}, at line {line}.", in_terminal=True)
    return None


def _pdf_program(path: Path, page: int, which: Which, default_program: Callable[[str], str]) -> Opening | None:
    """The user's own program for PDFs at the page; None where it takes none. Another program may take other options."""
    name = default_program("application/pdf").removesuffix(".desktop").lower().rpartition(".")[2]
    if name in _PDF_PROGRAMS and (program := which(name)):
        options = (option.format(page=page) for option in _PDF_PROGRAMS[name])
        return Opening((program, *options, str(path)), f"With {name}, at page {page}.")
    if name in _BROWSERS and (program := which(name)):
        return Opening((program, f"{path.as_uri()}#page={page}"), f"With {name}, at page {page}.")
    return None


def _shown_in_folder(path: Path, which: Which, platform: str) -> tuple[str, ...]:
    if platform == "darwin":
        return (opener, "-R", str(path)) if (opener := which("open")) else ()
    if bus := which("dbus-send"):
        return (
            bus, "--session", "--dest=org.freedesktop.FileManager1", "--type=method_call",
            "/org/freedesktop/FileManager1", "org.freedesktop.FileManager1.ShowItems",
            f"array:string:{path.as_uri()}", "string:",
        )  # fmt: skip
    return (opener, str(path.parent)) if (opener := which("xdg-open")) else ()


def _default_program(kind: str) -> str:
    if (asked := shutil.which("xdg-mime")) is None:
        return ""
    try:
        found = subprocess.run(
            (asked, "query", "default", kind), capture_output=True, text=True, timeout=5, check=False
        )
    except (OSError, subprocess.SubprocessError):
        return ""
    return found.stdout.strip()


def _go_to(locator: Mapping[str, Any], page: int | None) -> str:
    """What the program is not told, for the user to go there."""
    places = {"page": page} | {one: locator.get(one) for one in ("slide", "line", "cell", "cells", "time", "message")}
    for kind, place in places.items():
        first = place if isinstance(place, str) else _first(place)
        if first is not None:
            return f"; then go to {kind} {first}"
    return ""


def _first(place: Any) -> int | None:
    found = place[0] if isinstance(place, list | tuple) and place else place
    return found if isinstance(found, int) else None
