"""The wheel as a user installs it: complete, without what is not the program's, and at work outside the checkout."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import sysconfig
import tarfile
import venv
import zipfile
from pathlib import Path

import pytest
from support.places import ROOT

pytest.importorskip("hatchling", reason="hatchling, which packs the wheel, is not installed")


def build(kind: str, root: Path, out: Path) -> Path:
    command = [sys.executable, "-m", "hatchling", "build", "--target", kind, "--directory", str(out)]
    subprocess.run(command, cwd=root, check=True, capture_output=True, timeout=300)
    [made] = out.iterdir()
    return made


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return build("wheel", ROOT, tmp_path_factory.mktemp("wheel"))


def contents(file: Path) -> dict[str, int]:
    """The checksum of each file in a wheel; its RECORD, which follows from them, left out."""
    with zipfile.ZipFile(file) as archive:
        return {item.filename: item.CRC for item in archive.infolist() if not item.filename.endswith("/RECORD")}


def test_it_has_every_file_of_the_program_and_no_other(wheel: Path) -> None:
    shipped = {"indexes/pocket": "*", "models/adapters": "**/*", "models/span-reader": "*"}
    expected = {
        str(file.relative_to(ROOT))
        for file in (ROOT / "atomr_local").rglob("*")
        if file.is_file() and "__pycache__" not in file.parts
    }
    for folder, pattern in shipped.items():
        files = [file for file in (ROOT / folder).glob(pattern) if file.is_file()]
        assert files, folder
        expected |= {f"atomr_local/_shipped/{file.relative_to(ROOT)}" for file in files}
    expected.add("atomr_local/_shipped/models/catalog.toml")
    names = set(contents(wheel))
    own = {name for name in names if name.startswith("atomr_local/")}
    assert own == expected
    assert {"atomr_local/py.typed", "atomr_local/cli/main.py"} <= own
    kept = wheel.name.split("-py3-")[0]
    beside = {name.removeprefix(kept) for name in names - own}
    assert beside == {
        ".dist-info/METADATA", ".dist-info/WHEEL", ".dist-info/entry_points.txt", ".dist-info/licenses/LICENSE",
        ".data/data/share/man/man1/atomr.1",
    }  # fmt: skip


def test_the_source_distribution_makes_the_same_wheel(wheel: Path, tmp_path: Path) -> None:
    source = build("sdist", ROOT, tmp_path / "sdist")
    with tarfile.open(source) as archive:
        archive.extractall(tmp_path / "unpacked", filter="data")
    [root] = (tmp_path / "unpacked").iterdir()
    assert contents(build("wheel", root, tmp_path / "again")) == contents(wheel)


def test_installed_outside_the_checkout_it_answers(wheel: Path, built_home: Path, tmp_path: Path) -> None:
    """In an environment of its own; only what the program needs is that of this one."""
    place = tmp_path / "environment"
    venv.create(place, symlinks=True)
    python = place / "bin" / "python"
    command = [sys.executable, "-m", "pip", "--python", str(python), "install", "--no-deps", "--no-index", str(wheel)]
    subprocess.run(command, check=True, capture_output=True, timeout=300)
    packages = next((place / "lib").glob("python3*/site-packages"))
    (packages / "dependencies.pth").write_text(sysconfig.get_path("purelib") + "\n")
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    environment["ATOMR_HOME"] = str(built_home)
    outside = tmp_path / "elsewhere"
    outside.mkdir()

    def run(*arguments: str) -> str:
        done = subprocess.run(
            arguments, cwd=outside, env=environment, capture_output=True, text=True, timeout=540, check=False
        )
        assert done.returncode == 0, done.stderr
        return done.stdout

    assert run(str(python), "-c", "import atomr_local; print(atomr_local.__file__)").startswith(str(packages))
    trace = json.loads(run(str(place / "bin" / "atomr"), "ask", "Who wrote Frankenstein?", "--json"))
    assert (trace["status"], trace["answers"]) == ("answered", ["Mary Shelley"])
    assert (place / "share" / "man" / "man1" / "atomr.1").is_file()
