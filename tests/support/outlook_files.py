"""Writes messages of Outlook: storages and streams in a compound file (MS-CFB), as few kinds as are needed."""

from __future__ import annotations

from struct import pack
from typing import Any

_SECTOR = 512
_FREE, _END, _FAT = 0xFFFFFFFF, 0xFFFFFFFE, 0xFFFFFFFD


def compound(tree: dict[str, Any]) -> bytes:
    """A compound file of these streams (bytes) and storages (dicts). Each stream fills up to 4096 bytes with zeros."""
    entries: list[tuple[str, int, int, int, int, int]] = []  # name, kind, right, child, first sector, size
    data, chains = b"", []

    def add(name: str, node: Any, kind: int) -> int:
        nonlocal data
        here = len(entries)
        entries.append((name, kind, _FREE, _FREE, 0, 0))
        if isinstance(node, dict):
            kids = [add(one, node[one], 1 if isinstance(node[one], dict) else 2) for one in node]
            for kid, after in zip(kids, [*kids[1:], _FREE], strict=True):
                entries[kid] = (*entries[kid][:2], after, *entries[kid][3:])
            entries[here] = (name, kind, _FREE, kids[0] if kids else _FREE, _END if kind == 5 else 0, 0)
        else:
            padded = node.ljust(max(4096, -(-len(node) // _SECTOR) * _SECTOR), b"\0")
            entries[here] = (name, kind, _FREE, _FREE, len(data) // _SECTOR, len(padded))
            chains.append((len(data) // _SECTOR, len(padded) // _SECTOR))
            data += padded
        return here

    add("Root Entry", tree, 5)
    listed = b"".join(
        pack("<64sHBBIII16sIQQIQ", (name + "\0").encode("utf-16-le"), 2 * len(name) + 2, kind, 1, _FREE, right, child,
             b"", 0, 0, 0, first, size)
        for name, kind, right, child, first, size in entries
    )  # fmt: skip
    listed = listed.ljust(-(-len(listed) // _SECTOR) * _SECTOR, b"\0")
    chains.append((len(data) // _SECTOR, len(listed) // _SECTOR))
    sectors = (len(data) + len(listed)) // _SECTOR
    tables = next(count for count in range(1, 109) if count * 128 >= sectors + count)
    table = [_FREE] * (tables * 128)
    for first, count in chains:
        table[first : first + count] = [*range(first + 1, first + count), _END]
    table[sectors : sectors + tables] = [_FAT] * tables
    head = pack("<8s16sHHHHH6xIIIIIIIII", b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1", b"", 0x3E, 3, 0xFFFE, 9, 6, 0, tables,
                chains[-1][0], 0, 4096, _END, 0, _END, 0)  # fmt: skip
    where = [*range(sectors, sectors + tables), *[_FREE] * (109 - tables)]
    return head + pack("<109I", *where) + data + listed + pack(f"<{len(table)}I", *table)


def message(texts: dict[int, str | bytes], numbers: dict[int, int] | None = None, *attached: Any) -> dict[str, Any]:
    """The storage of a message: its texts and its numbers (8 bytes) by their property, and what is attached to it.

    Text is in UTF-16; bytes are text in the code page, or binary where the property is HTML.
    """
    tree: dict[str, Any] = {
        f"__substg1.0_{key:04X}{'001F' if isinstance(text, str) else '0102' if key == 0x1013 else '001E'}": (
            text.encode("utf-16-le") if isinstance(text, str) else text
        )
        for key, text in texts.items()
    }
    fixed = b"".join(
        pack("<HHIQ", 0x40 if value > 0xFFFFFFFF else 3, key, 6, value) for key, value in (numbers or {}).items()
    )
    return {
        **tree,
        "__properties_version1.0": bytes(32) + fixed,
        **{f"__attach_version1.0_#{i:08X}": one for i, one in enumerate(attached)},
    }
