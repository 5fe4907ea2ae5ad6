"""Imports a target so that atheris sees the branches of the parser it is about."""

from __future__ import annotations

import ast
from pathlib import Path

import atheris

from fuzz.engine import Target, load_target


def load_instrumented(name: str) -> Target:
    """The target's module, with the packages it names instrumented as they are imported."""
    # What is to be instrumented must be known before the target imports it.
    source = (Path(__file__).parent / "targets" / f"{name}.py").read_text(encoding="utf-8")
    packages: tuple[str, ...] = ()
    for statement in ast.parse(source).body:
        if isinstance(statement, ast.Assign) and getattr(statement.targets[0], "id", "") == "INSTRUMENTED":
            packages = ast.literal_eval(statement.value)
    with atheris.instrument_imports(include=[*packages]):
        return load_target(name)
