"""The generated reference pages are those of the code as it is."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys

import pytest
from support.places import ROOT

from atomr_local.reasoning.trace.schema import SCHEMA, NodeTrace, Trace


def test_the_reference_pages_are_up_to_date() -> None:
    command = [sys.executable, str(ROOT / "scripts" / "make_reference.py"), "--check"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300, check=False)
    assert done.returncode == 0, f"Run scripts/make_reference.py.\n{done.stdout}{done.stderr}"


def test_the_schema_has_the_fields_of_a_trace_that_is_written() -> None:
    schema = json.loads((ROOT / "docs" / "reference" / "trace.schema.json").read_text())
    trace = Trace(question="Who?", strategy="atomr", settings={}, nodes=[NodeTrace(1, None, "Who?", "root")])
    written = trace.to_dict()
    assert list(written) == schema["required"]
    assert set(written) == set(schema["properties"])
    assert schema["properties"]["schema"]["const"] == written["schema"] == SCHEMA
    assert set(written["nodes"][0]) == set(schema["$defs"]["NodeTrace"]["properties"])


@pytest.mark.skipif(shutil.which("groff") is None, reason="groff is not installed")
def test_the_manual_page_is_without_fault_and_has_every_command() -> None:
    page = ROOT / "docs" / "reference" / "atomr.1"
    done = subprocess.run(
        ["groff", "-man", "-ww", "-Tutf8", "-P-cbou", str(page)], capture_output=True, text=True, check=True, timeout=60
    )
    assert done.stderr == ""
    commands = re.findall(r"^##+ `(atomr .+)`$", (ROOT / "docs" / "reference" / "cli.md").read_text(), re.MULTILINE)
    headings = [line.strip() for line in done.stdout.splitlines() if re.fullmatch(r"   atomr \S.*", line)]
    assert len(commands) > 50
    assert headings == commands
    assert "it may say “her”" in " ".join(done.stdout.split())
