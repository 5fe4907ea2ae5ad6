"""The file that facts are written to while the pages of an index are read. A killed run goes on at the next page."""

from __future__ import annotations

import json
import os
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, BinaryIO

from atomr_local.errors import InputError
from atomr_local.page_facts.extraction import ModelReading, PassageFact, facts_of_page
from atomr_local.page_facts.passages import PagePassage
from atomr_local.system.cancellation import Cancellation
from atomr_local.system.files import json_line, locked, not_written, put, read_text

SCHEMA = "atomr.page-facts/2"
_STATE_BYTES = 1 << 20
_COMMIT_PAGES = 200


@dataclass
class FactFile:
    """Facts of the pages that were read, in the order of the index.

    Attributes:
        path: JSON lines as `atomr graph build` reads them.
        about: what the facts are made of; a file that was begun of something else is not gone on with.
        last: id of the last page whose facts are on the disk; "" before the first.
        pages: how many pages that are.
        counts: facts by how they were found.
        left_out: labelled values that became no facts, by why (:func:`labelled_facts`).
    """

    path: Path
    about: Mapping[str, Any]
    last: str = ""
    pages: int = 0
    counts: dict[str, int] = field(default_factory=dict)
    left_out: Counter[str] = field(default_factory=Counter)
    stream: BinaryIO | None = None

    def add(self, page: str, facts: Sequence[PassageFact], *, commit: bool) -> None:
        """Take in the facts of a page.

        Args:
            commit: they are on the disk on return; otherwise with every 200th page, and when the file is closed.
        """
        assert self.stream is not None
        for fact in facts:
            self.stream.write(f"{json_line(fact.to_dict())}\n".encode())
            self.counts[fact.how] = self.counts.get(fact.how, 0) + 1
        self.last, self.pages = page, self.pages + 1
        if commit or self.pages % _COMMIT_PAGES == 0:
            self.commit()

    def commit(self) -> None:
        """Have everything on the disk, and noted how far it goes.

        Raises:
            InputError: it cannot be written.
        """
        assert self.stream is not None
        try:
            self.stream.flush()
            os.fsync(self.stream.fileno())
            state = {
                "about": dict(self.about), "last": self.last, "pages": self.pages, "counts": self.counts,
                "left_out": dict(self.left_out), "bytes": self.stream.tell(),
            }  # fmt: skip
            put(_state_file(self.path), f"{json.dumps(state, indent=1)}\n".encode())
        except OSError as error:
            raise not_written(self.path, error) from error


@contextmanager
def fact_file(path: Path, about: Mapping[str, Any], *, again: bool = False) -> Iterator[FactFile]:
    """The file, opened for adding to it: begun if it is new, resumed if not.

    Args:
        again: begin with the first page, though there is a file.

    Raises:
        InputError: it cannot be written, holds something else, was begun of something else, or is being written by
            another process.
    """
    described = {"schema": SCHEMA, **json.loads(json.dumps(about))}
    with ExitStack() as stack:
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            stack.enter_context(locked(path.with_name(path.name + ".lock"), path, "another process"))
            file = FactFile(path, described)
            end = 0 if again else _resume(file)
            # It quotes passages, which may be private.
            handle = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
            file.stream = stack.enter_context(os.fdopen(handle, "r+b"))
            file.stream.truncate(end)
            file.stream.seek(end)
        except OSError as error:
            raise not_written(path, error) from error
        file.commit()
        try:
            yield file
        finally:
            file.commit()


def _resume(file: FactFile) -> int:
    """Take in how far an earlier run came; the bytes of facts that it had on the disk."""
    state_file = _state_file(file.path)
    if not file.path.exists():
        return 0
    try:
        state = json.loads(read_text(state_file, _STATE_BYTES))
        about, end = state["about"], int(state["bytes"])
        file.last, file.pages = str(state["last"]), int(state["pages"])
        file.counts = {str(how): int(number) for how, number in state["counts"].items()}
        file.left_out = Counter({str(why): int(number) for why, number in state.get("left_out", {}).items()})
    except (OSError, ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        raise InputError(
            f"{file.path} exists, and {state_file.name} beside it does not say how far it goes",
            hint="Name another file with --out, or begin anew with --again.",
        ) from error
    if about != file.about:
        raise InputError(
            f"{file.path} was made of another index, or with other settings",
            hint="Begin anew with --again, or name another file with --out.",
        )
    if not 0 <= end <= file.path.stat().st_size:
        raise InputError(f"{file.path} is shorter than it was", hint="Begin anew with --again.")
    return end


def _state_file(path: Path) -> Path:
    return path.with_name(path.name + ".progress")


# Reads the facts of a whole text index into a file, page by page.

Page = tuple[str, str, list[PagePassage]]


@dataclass(frozen=True, slots=True)
class PageRead:
    """A page whose facts were read just now; `pages` counts those of earlier runs too."""

    title: str
    facts: tuple[PassageFact, ...]
    pages: int


def read_pages(
    pages: Iterable[Page],
    file: FactFile,
    model: ModelReading | None,
    *,
    most: int | None = None,
    on_page: Callable[[PageRead], None],
    cancellation: Cancellation,
) -> None:
    """Write the facts of the pages to the file, from the page on that an earlier run came to.

    Args:
        pages: id, title and passages, in the order of the index.
        model: None for set phrases alone.
        most: pages that are read at most, those of earlier runs included.

    Raises:
        Cancelled: what was read is kept.
        ModelError: the model cannot be used; what was read is kept.
        InputError: the file cannot be written.
    """
    seen = not file.last
    for identifier, title, passages in pages:
        if most is not None and file.pages >= most:
            return
        if not seen:
            seen = identifier == file.last
            continue
        cancellation.check()
        facts = tuple(facts_of_page(title, passages, model, check=cancellation.check, left_out=file.left_out))
        file.add(identifier, facts, commit=model is not None)
        on_page(PageRead(title, facts, file.pages))
