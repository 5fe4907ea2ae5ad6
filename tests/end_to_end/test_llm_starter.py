"""`llm -m atomr` as a person runs it: the program llm in an environment with the plugin, on the starter, offline."""

from __future__ import annotations

import json
import os
import re
import shlex
import subprocess
import sys
import sysconfig
import venv
from collections.abc import Callable
from pathlib import Path

import pytest
from support.places import ROOT

pytest.importorskip("llm", reason="llm is not installed")
pytest.importorskip("hatchling", reason="hatchling, which packs the plugin, is not installed")

_PAGES = ("plugins/llm-atomr/README.md", "docs/how-to/python.md")
# A connection to anywhere ends the process.
_OFFLINE = (
    "import os, runpy, socket, sys\n"
    "def refused(*_): os.write(2, b'a connection was opened'); os._exit(77)\n"
    "socket.socket.connect = socket.socket.connect_ex = refused\n"
    "sys.argv[0] = 'llm'\n"
    "runpy.run_module('llm', run_name='__main__')\n"
)
_TRANSCRIPT = re.compile(r"^```console\n\$ llm ([^\n]*)\n(.*?)^```", re.MULTILINE | re.DOTALL)
Llm = Callable[..., subprocess.CompletedProcess[str]]


@pytest.fixture
def llm(built_home: Path, tmp_path: Path) -> Llm:
    """Runs llm with these arguments. The plugin is installed as a package; the others are those of this environment."""
    made = tmp_path / "made"
    command = [sys.executable, "-m", "hatchling", "build", "--target", "wheel", "--directory", str(made)]
    subprocess.run(command, cwd=ROOT / "plugins" / "llm-atomr", check=True, capture_output=True, timeout=120)
    [wheel] = made.iterdir()
    place = tmp_path / "environment"
    venv.create(place, symlinks=True)
    python = place / "bin" / "python"
    command = [sys.executable, "-m", "pip", "--python", str(python), "install", "--no-deps", "--no-index", str(wheel)]
    subprocess.run(command, check=True, capture_output=True, timeout=120)
    packages = next((place / "lib").glob("python3*/site-packages"))
    (packages / "dependencies.pth").write_text(sysconfig.get_path("purelib") + "\n")
    environment = {
        **os.environ, "ATOMR_HOME": str(built_home), "LLM_USER_PATH": str(tmp_path / "llm"), "PYTHONPATH": str(ROOT),
    }  # fmt: skip
    environment.pop("LLM_LOAD_PLUGINS", None)

    def run(*arguments: str) -> subprocess.CompletedProcess[str]:
        done = subprocess.run(
            [str(python), "-c", _OFFLINE, *arguments],
            cwd=tmp_path, env=environment, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=500, check=False,
        )  # fmt: skip
        assert done.returncode == 0, done.stderr
        return done

    return run


def test_llm_finds_the_plugin_asks_and_keeps_the_citations(llm: Llm) -> None:
    loaded = {plugin["name"]: plugin["hooks"] for plugin in json.loads(llm("plugins").stdout)}
    assert {"register_models", "register_tools"} <= set(loaded["llm-atomr"])
    assert "atomr-rag" in llm("models", "list", "-q", "atomr").stdout
    shown = {found for page in _PAGES for found in _TRANSCRIPT.findall((ROOT / page).read_text(encoding="utf-8"))}
    [(command, printed)] = shown  # the same on both pages
    told = llm(*shlex.split(command))
    steps = [line for line in printed.splitlines() if line.startswith("step ")]
    assert [line for line in told.stderr.splitlines() if line] == steps
    # "…" stands for the rest of a line.
    expected = "".join(
        re.escape(line).replace("…", ".*") + "\n" for line in printed.splitlines() if not line.startswith("step ")
    )
    assert re.fullmatch(expected, told.stdout), told.stdout
    assert "Erasmus Darwin" in told.stdout.splitlines()[0]
    [kept] = json.loads(llm("logs", "list", "--json", "--count", "1").stdout)
    answer = kept["response_json"]
    if isinstance(answer, str):
        answer = json.loads(answer)
    assert (answer["status"], answer["values"]) == ("answered", ["Erasmus Darwin"])
    assert answer["citations"]
    assert kept["output_tokens"] > 0
