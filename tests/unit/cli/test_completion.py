"""What Tab offers: in a real bash, with names that a shell would read as something else, and without heavy libraries."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from support.places import ROOT

from atomr_local.cli.completion import VARIABLE
from atomr_local.cli.main import main
from atomr_local.strategies.names import OURS
from atomr_local.strategies.registry import STRATEGIES

HOSTILE = ("$(touch hit)", "`touch hit`", "a;touch hit", "-rf", "a b", "*", "x'y", "a\nb", "\x1b[2Jz", "~root", "a:b")


def offered(capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, line: str) -> list[str]:
    """What bash is offered for the last word of `line`."""
    monkeypatch.setenv("COMP_WORDS", line)
    monkeypatch.setenv("COMP_CWORD", str(line.count(" ")))
    monkeypatch.setenv(VARIABLE, "bash_complete")
    with pytest.raises(SystemExit) as ended:
        main([])
    assert not ended.value.code
    return [line for line in capfd.readouterr().out.splitlines() if line]


@pytest.fixture
def named(own_home: Path) -> Path:
    for name in ("mine", "notes", ".building", *HOSTILE):
        (own_home / "indexes" / "text" / name).mkdir(parents=True)
    (own_home / "indexes" / "graph" / "facts").mkdir(parents=True)
    (own_home / "models" / "adapters").mkdir(parents=True)
    for name in ("big-q4", *HOSTILE):
        (own_home / "models" / f"{name}.gguf").touch()
    (own_home / "models" / "adapters" / "own.gguf").touch()
    return own_home


def plain(*values: str) -> list[str]:
    return [f"plain,{value}" for value in values]


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("atomr ask --text-index ", ("mine", "notes", "starter")),
        ("atomr ask --text-index mine,", ("mine,notes", "mine,starter")),
        ("atomr text search x --text-index n", ("notes",)),
        ("atomr text sync m", ("mine",)),
        ("atomr ask --graph-index ", ("facts", "starter")),
        ("atomr indexes verify ", ("mine", "notes", "facts", "starter")),
        ("atomr indexes remove graph ", ("facts", "starter")),
        ("atomr ask --model ", ("starter", "big-q4")),
        ("atomr ask --model b", ("big-q4",)),
        ("atomr models use b", ("big-q4",)),
        ("atomr ask -s r", ("rag", "react", "roht")),
        ("atomr eval matrix --strategies rag,ro", ("rag,roht",)),
        ("atomr strategies hu", ("humaniq",)),
        ("atomr ask --sources ", ("text", "graph")),
        ("atomr models pull mist", ("mistral-7b-instruct-v0.3",)),
        ("atomr config set web.en", ("web.enabled",)),
        ("atomr config set web.enabled ", ("true", "false")),
        ("atomr config set graph_index f", ("facts",)),
        ("atomr config set nothing.such ", ()),
        ("atomr comp", ("completion",)),
    ],
)
def test_names_are_offered(
    named: Path,
    capfd: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
    line: str,
    expected: tuple[str, ...],
) -> None:
    assert offered(capfd, monkeypatch, line) == plain(*expected)


def test_adapters_are_offered_and_paths_are_left_to_the_shell(
    named: Path, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    assert offered(capfd, monkeypatch, "atomr ask --adapter o") == plain("own")
    assert offered(capfd, monkeypatch, "atomr ask --model ./b") == ["file,./b"]


def test_a_folder_that_cannot_be_read_offers_the_starter_or_nothing(
    own_home: Path, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    (own_home / "indexes").write_text("no folder")
    assert offered(capfd, monkeypatch, "atomr ask --text-index ") == plain("starter")


def test_the_names_of_strategies_are_those_of_the_registry() -> None:
    assert tuple(STRATEGIES) == OURS


@pytest.mark.slow
@pytest.mark.skipif(shutil.which("bash") is None, reason="bash is not installed")
@pytest.mark.parametrize(
    ("words", "expected"),
    [
        (("atomr", "ask", "--text-index", ""), ["mine", "notes", "starter"]),
        (("atomr", "ask", "--strategy", "=", "sel"), ["self-ask"]),  # where bash cuts --strategy=sel
        (("atomr", "indexes", "remove", "text", "m"), ["mine"]),
    ],
)
def test_a_real_bash_completes(named: Path, tmp_path: Path, words: tuple[str, ...], expected: list[str]) -> None:
    program = tmp_path / "bin" / "atomr"
    program.parent.mkdir()
    program.write_text(f'#!/bin/sh\nPYTHONPATH="{ROOT}" exec "{sys.executable}" -m atomr_local "$@"\n')
    program.chmod(0o755)
    script = f"""
PATH="{program.parent}:$PATH"
eval "$(atomr completion bash)"
COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1))
_atomr_completion atomr
printf '%s\\n' "${{COMPREPLY[@]}}"
"""
    done = subprocess.run(
        ["bash", "--norc", "-c", script, "bash", *words], cwd=tmp_path, capture_output=True, text=True, check=True,
        timeout=120,
    )  # fmt: skip
    assert done.stdout.splitlines() == expected, done.stderr
    assert not (tmp_path / "hit").exists()


@pytest.mark.parametrize("shell", ["zsh", "fish"])
def test_other_shells_get_their_script(capfd: pytest.CaptureFixture[str], shell: str) -> None:
    with pytest.raises(SystemExit) as ended:
        main(["completion", shell])
    assert not ended.value.code
    assert f"{VARIABLE}={shell}_complete" in capfd.readouterr().out


def test_tab_loads_little() -> None:
    """A Tab must not wait for libraries: no strategy, no model and no database is loaded for their names."""
    code = (
        "import os, sys\nfrom atomr_local.cli.main import main\n"
        "for words in ('atomr ask --strategy r', 'atomr ask --text-index s', 'atomr ask --model s'):\n"
        f"    os.environ.update(COMP_WORDS=words, COMP_CWORD='3', {VARIABLE}='bash_complete')\n"
        "    try:\n        main([])\n    except SystemExit:\n        pass\n"
        "names = ('pydantic', 'rich', 'numpy', 'lancedb', 'llama_cpp', 'atomr_local.strategies.registry')\n"
        "print('LOADED', *[name for name in names if name in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=120)
    assert done.stdout.splitlines() == [*plain("rag", "react", "roht"), *plain("starter"), *plain("starter"), "LOADED"]
