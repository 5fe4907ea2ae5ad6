"""Starting is light: the heavy libraries load on first need only."""

from __future__ import annotations

import subprocess
import sys
import tomllib

import pytest
from support.loaded_modules import cli, loaded_by
from support.places import ROOT

HEAVY = ("torch", "sentence_transformers", "llama_cpp", "lancedb", "pyoxigraph", "textual", "numpy", "pyarrow", "ddgs",
         "transformers", "ray")  # fmt: skip


@pytest.mark.parametrize(
    "code",
    [
        "import atomr_local",
        "from atomr_local import Assistant; Assistant.open().close()",
        cli("--help"),
        cli("ask", "--help"),
        cli("strategies"),
        cli("config", "show"),
        cli("--version"),
    ],
    ids=["import", "open an assistant", "help", "ask help", "strategies", "config show", "version"],
)
def test_nothing_heavy_is_loaded(code: str) -> None:
    assert loaded_by(code, HEAVY) == []


@pytest.mark.parametrize("module", ["cli.commands.ask", "tui.app"])
def test_the_first_screen_and_the_first_command_wait_for_no_planner_and_no_settings(module: str) -> None:
    code = (
        f"import sys, atomr_local.{module}\n"
        "print(*[name for name in ('pydantic', 'atomr_local.reasoning.planning.planner', 'importlib.metadata') if name in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=300, check=True)
    assert done.stdout.split() == []


def test_this_test_would_see_a_heavy_library() -> None:
    assert loaded_by("import pyoxigraph", HEAVY) == ["pyoxigraph"]


def test_the_contracts_name_every_room() -> None:
    """A new room is on a floor, and out of reach for those that import nothing of the project."""
    package = ROOT / "atomr_local"
    rooms = {f"atomr_local.{file.stem}" for file in package.iterdir() if file.suffix == ".py" or file.is_dir()}
    rooms -= {f"atomr_local.{name}" for name in ("__init__", "__main__", "__pycache__", "_shipped")}
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    contracts = project["tool"]["importlinter"]["contracts"]
    floors = next(one["layers"] for one in contracts if one["name"].startswith("Floors"))
    assert {room for floor in floors for room in floor.split(" | ")} == rooms
    alone = {"atomr_local.tree", "atomr_local.language"}
    forbidden = next(one["forbidden_modules"] for one in contracts if set(one.get("source_modules", ())) == alone)
    assert set(forbidden) == rooms - alone
