"""The generated reference pages are those of the code as it is."""

from __future__ import annotations

import json
import subprocess
import sys

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
