"""With the starter, onnxruntime and llama.cpp do all the work: nothing of torch is loaded, in no process of the program."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from support.places import ROOT

# What is installed for other models, for extras, for tests or for training; also other libraries' optional parts.
NOT_LOADED = (
    "torch", "transformers", "sentence_transformers", "sklearn", "scipy", "sympy", "pandas", "polars", "ray", "lance", "peft",
    "accelerate", "datasets", "huggingface_hub", "openai", "llm", "mcp", "starlette", "uvicorn", "ddgs", "primp", "pytest",
    "hypothesis", "playwright", "libzim", "py7zr", "PIL",
)  # fmt: skip
# Every Python process that sees this module says at its end what it has loaded.
_WITNESS = f"""
import atexit, os, sys
def told():
    found = [name for name in {NOT_LOADED!r} if name in sys.modules]
    with open(os.environ["WITNESS"], "a", encoding="utf-8") as file:
        file.write(" ".join(["process", *found]) + "\\n")
atexit.register(told)
"""
# The same, and they cannot be loaded either.
_WITHOUT = f"""
import sys
class Refuse:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in {NOT_LOADED!r}:
            raise ModuleNotFoundError(f"{{name}} is not installed", name=name)
sys.meta_path.insert(0, Refuse())
"""
_ASK = """
from atomr_local import Assistant
with Assistant.open() as assistant:
    answer = assistant.answer("Who was the paternal grandfather of Charles Darwin?")
    text = assistant.answer("Who was the paternal grandfather of Charles Darwin?", strategy="rag", sources=("text",))
    print(answer.status, answer.values, text.status, [piece.source for piece in text.evidence][:1])
"""


def run(home: Path, code: str, hook: str) -> tuple[str, list[str]]:
    """What a program prints, and for each of its processes what it had loaded."""
    (home / "hook").mkdir(exist_ok=True)
    (home / "hook" / "sitecustomize.py").write_text(hook)
    witness = home / "witness.txt"
    witness.write_text("")
    environment = {
        **os.environ, "ATOMR_HOME": str(home), "PYTHONPATH": os.pathsep.join([str(home / "hook"), str(ROOT)]),
        "WITNESS": str(witness),
    }  # fmt: skip
    done = subprocess.run(
        [sys.executable, "-c", code], env=environment, capture_output=True, text=True, timeout=500, check=False
    )
    assert done.returncode == 0, done.stderr
    return done.stdout, witness.read_text().splitlines()


def cli(*arguments: str) -> str:
    return f"import sys\nfrom atomr_local.cli.main import main\nsys.exit(main({list(arguments)!r}))"


def test_a_question_in_python_loads_no_torch(built_home: Path) -> None:
    told, processes = run(built_home, _ASK, _WITNESS)
    assert told.startswith("answered ('Erasmus Darwin',) "), told
    assert set(processes) == {"process"}


def test_without_torch_an_index_is_built_and_asked(built_home: Path, tmp_path: Path) -> None:
    notes = tmp_path / "notes"
    notes.mkdir()
    (notes / "bees.txt").write_text("The bees of Ada Quist live in Tarnow. They make heather honey.\n")
    told, processes = run(built_home, cli("text", "build", str(notes), "--name", "notes"), _WITNESS + _WITHOUT)
    assert set(processes) == {"process"}, told
    told, processes = run(
        built_home, cli("ask", "Where do the bees of Ada Quist live?", "--text-index", "notes"), _WITNESS + _WITHOUT
    )
    assert "Tarnow" in told
    assert set(processes) == {"process"}


def test_this_test_would_see_torch(tmp_path: Path) -> None:
    pytest.importorskip("torch", reason="torch is not installed")
    [process] = run(tmp_path, "import torch", _WITNESS)[1]
    assert "torch" in process.split()
    with pytest.raises(AssertionError, match="torch is not installed"):
        run(tmp_path, "import torch", _WITHOUT)
