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
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO

from atomr_local.sources.place_words import file_path, made_elsewhere, page_at

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
    places = {"page": page, **{kind: locator.get(kind) for kind in ("slide", "line", "cell", "cells")}}
    for kind, place in places.items():
        first = place if isinstance(place, str) else _first(place)
        if first is not None:
            return f"; then go to {kind} {first}"
    return ""


def _first(place: Any) -> int | None:
    found = place[0] if isinstance(place, list | tuple) and place else place
    return found if isinstance(found, int) else None
