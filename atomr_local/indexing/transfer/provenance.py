"""Where the content of an index that is handed on comes from, and under which licence, as its maker says."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass, fields
from datetime import UTC, datetime

from atomr_local import __version__

FILE = "provenance.json"
MOST_BYTES = 64 << 10
_SCHEMA = 1
_LONGEST = 2_000


@dataclass(frozen=True)
class Provenance:
    """What the maker of an index says of its content; "" where nothing is said.

    Attributes:
        licence: of the content, such as "CC BY-SA 4.0".
        source: where the content comes from, such as the address of a dump.
        program: what wrote the file.
    """

    licence: str = ""
    source: str = ""
    exported_at: str = ""
    program: str = ""

    @classmethod
    def now(cls, licence: str, source: str) -> Provenance:
        """What is said of an index that is exported now."""
        stamp = datetime.now(UTC).isoformat(timespec="seconds")
        return cls(licence[:_LONGEST], source[:_LONGEST], stamp, f"atomr-local {__version__}")

    def data(self) -> bytes:
        return json.dumps({"schema": _SCHEMA} | asdict(self)).encode()


def read_provenance(data: bytes) -> Provenance:
    """What :meth:`Provenance.data` wrote.

    Raises:
        ValueError: it is none.
    """
    try:
        found = json.loads(data)
        if not isinstance(found, dict) or found.get("schema") != _SCHEMA:
            raise ValueError("of another version")
        texts = {field.name: found.get(field.name, "") for field in fields(Provenance)}
        if not all(isinstance(text, str) and len(text) <= _LONGEST for text in texts.values()):
            raise ValueError("a field is no short text")
        return Provenance(**texts)
    except RecursionError as error:
        raise ValueError("not JSON") from error
