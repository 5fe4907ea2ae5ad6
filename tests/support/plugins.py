"""Packages that offer parts through entry points, made up for a test; and the worked examples of the documentation."""

from __future__ import annotations

import importlib
import re
import sys
from importlib import metadata
from importlib.metadata import EntryPoint
from pathlib import Path
from typing import Any

import pytest

from support.places import ROOT

GUIDE = ROOT / "docs" / "how-to" / "plug-in.md"


def offer(monkeypatch: pytest.MonkeyPatch, group: str, values: dict[str, str]) -> None:
    """Let packages offer these parts, by name, and nothing else."""
    offered = [EntryPoint(name, value, group) for name, value in values.items()]
    installed = metadata.entry_points

    def found(**chosen: str) -> Any:
        if not chosen.get("group", "").startswith("atomr_local."):
            return installed(**chosen)
        return [item for item in offered if item.group == chosen["group"]]

    monkeypatch.setattr(metadata, "entry_points", found)


def module(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str, text: str) -> None:
    """A module that can be imported while the test runs."""
    (tmp_path / f"{name}.py").write_text(text, encoding="utf-8")
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.delitem(sys.modules, name, raising=False)
    importlib.invalidate_caches()


def example(name: str) -> str:
    """The code of a worked example."""
    found = re.search(rf"<!-- example: {name} -->\n```python\n(.*?)```", GUIDE.read_text(encoding="utf-8"), re.DOTALL)
    assert found is not None
    return found[1]
