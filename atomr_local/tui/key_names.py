"""Ids of keys (`ui.keys`) that had another name once. Settings with the earlier id keep their effect."""

from __future__ import annotations

from collections.abc import Mapping

FORMER_IDS = {
    "focus.slash": "focus.question",  # "/" searches everywhere now
    **{f"{name}.{way}": f"dialog.{way}" for name in ("confirm", "unsaved", "busy") for way in ("previous", "next")},
}


def current_keys(table: Mapping[str, str]) -> dict[str, str]:
    """The table with present ids; an entry under the present id wins over one under the earlier."""
    return {FORMER_IDS.get(name, name): keys for name, keys in table.items() if name in FORMER_IDS} | {
        name: keys for name, keys in table.items() if name not in FORMER_IDS
    }
