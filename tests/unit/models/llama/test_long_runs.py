"""Text without a break, however long, is tokenised: llama.cpp's regular expressions would overflow the stack."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from support.script_loader import load_script

from atomr_local.models.llama.engine import _LONGEST_RUN, _pieces

hostile = load_script("hostile_gguf")

TOKENISE = """
import sys, threading
from pathlib import Path
from atomr_local.models.llama.engine import Engine, RunOptions
engine = Engine(Path(sys.argv[1]), None, RunOptions(context_tokens=256, threads=1, batch_threads=1))
def work():
    for text in ("a" * 60_000, " " * 60_000, "1" * 60_000, "e\u0301" * 30_000, "\U0001f600" * 60_000, "x " * 30_000):
        tokens = engine.tokenize(text, special=False)
        print(b"".join(engine.token_bytes(token) for token in tokens).decode() == text)
thread = threading.Thread(target=work)
thread.start()
thread.join()
"""


@pytest.mark.slow
@pytest.mark.parametrize("pre", ["gpt-4o", "deepseek-v3", "default"])
def test_a_run_of_60000_characters(tmp_path: Path, pre: str) -> None:
    pytest.importorskip("llama_cpp")
    model = tmp_path / "m.gguf"
    model.write_bytes(hostile.model().put("tokenizer.ggml.pre", hostile.text(pre)).encode())
    command = [sys.executable, "-c", TOKENISE, str(model)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=200, check=False)
    assert (done.returncode, done.stdout.split()) == (0, ["True"] * 6), done.stderr


def test_nothing_is_lost_between_the_pieces() -> None:
    run = "a" * (2 * _LONGEST_RUN + 5)
    for text in (run, f"before {run} behind", " " * (_LONGEST_RUN + 1), run + " " + run):
        pieces = list(_pieces(text))
        assert "".join(pieces) == text and len(pieces) > 1
        assert max(len(word) for piece in pieces for word in piece.split() or [piece]) <= _LONGEST_RUN
    assert list(_pieces("short text")) == ["short text"]
