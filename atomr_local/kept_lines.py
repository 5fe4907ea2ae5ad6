"""A file of the user's own in which each line holds one item, such as an example plan or a solution process."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Generic, TypeVar

from atomr_local.errors import InputError
from atomr_local.input_files import read_text
from atomr_local.output_files import exclusive, not_written, put

Item = TypeVar("Item")


@dataclass(frozen=True)
class KeptLines(Generic[Item]):
    """The lines of one file. A line that holds no item is reported and stays; a blank one just stays.

    Attributes:
        read: the item on a line; raises InputError if the line holds none.
        most_bytes: a longer file is refused.
    """

    path: Path
    read: Callable[[str], Item]
    most_bytes: int

    def items(self) -> tuple[list[Item], list[str]]:
        """The items, and the problems of the lines that hold none; both are empty if there is no file.

        Raises:
            InputError: the file cannot be read.
        """
        found, problems = list[Item](), list[str]()
        for number, line in enumerate(self._lines(), 1):
            if not line.strip():
                continue
            try:
                found.append(self.read(line))
            except InputError as error:
                problems.append(f"{self.path}, line {number}: {error.message}")
        return found, problems

    def change(self, is_meant: Callable[[Item], bool], then: Callable[[list[str]], Sequence[str]] = list) -> None:
        """Write the file anew without the items that are meant, under a lock against other processes.

        Args:
            then: makes the new lines of those that stay.

        Raises:
            InputError: the file cannot be read or written.
        """
        try:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            with exclusive(self.path):
                put(self.path, "".join(f"{line}\n" for line in then(self._without(is_meant))).encode())
        except OSError as error:
            raise not_written(self.path, error) from error

    def _without(self, is_meant: Callable[[Item], bool]) -> list[str]:
        """The raw lines that stay."""

        def stays(line: str) -> bool:
            try:
                return not is_meant(self.read(line))
            except InputError:
                return True

        return [line for line in self._lines() if not line.strip() or stays(line)]

    def _lines(self) -> list[str]:
        try:
            text = read_text(self.path, self.most_bytes)
        except FileNotFoundError:
            text = ""
        except (OSError, UnicodeDecodeError) as error:
            raise InputError(f"{self.path} cannot be read: {error}", hint="Correct or move the file.") from error
        # Not splitlines: it also breaks at characters that may stand inside JSON text.
        return text.removesuffix("\n").split("\n") if text else []
