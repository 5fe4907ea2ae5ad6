"""The worst of `scripts/hostile_models.py`, run through llama.cpp itself: no signal, no hang, no traceback."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from support.places import SCRIPTS

pytest.importorskip("llama_cpp")

# Of each kind one that ended the process before its bound, and sound ones that must run.
WORST = (
    "as it should be",
    "llama.context_length = 1",
    "llama.block_count = 513",
    "llama.attention.layer_norm_rms_epsilon = nan",
    "rope.scaling.type is evil",
    "gpt2 tokens: twice the same",
    "spm token types: all bytes",
    "adapter adapter.lora.alpha: text",
    "adapter lora_a of shape (64, 5)",
    "blk.0.attn_norm.weight of no numbers",
    "as rwkv6",
)


@pytest.mark.slow
def test_the_worst_files_are_answered_or_refused() -> None:
    only = [argument for name in WORST for argument in ("--only", name)]
    command = [sys.executable, str(SCRIPTS / "hostile_models.py"), "models", *only]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300, check=False, cwd=Path(SCRIPTS).parent)
    assert done.returncode == 0, done.stdout + done.stderr
    assert '"answered": ' in done.stdout and '"refused": ' in done.stdout


@pytest.mark.slow
def test_damage_to_weights_caches_and_models_changes_no_answer_unseen() -> None:
    command = [sys.executable, str(SCRIPTS / "hostile_models.py"), "damages", "--count", "8"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300, check=False, cwd=Path(SCRIPTS).parent)
    assert done.returncode == 0, done.stdout + done.stderr
    assert '"weights: answered": 2' in done.stdout
